//! The database: a table of products, and the ids that the filter has not been told of.

use crate::Outcome;
use futures_util::{pin_mut, SinkExt, Stream, TryStreamExt};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use tokio_postgres::{Client, Config, NoTls};

/// Connections. Each pipelines what it is asked.
const CONNECTIONS: usize = 4;
const UNANNOUNCED: i64 = 1_000;

/// A trigger writes down the ids of new rows in the same transaction, whoever inserts them.
const SCHEMA: &str = "
CREATE TABLE product (id bigint PRIMARY KEY, name text NOT NULL);
CREATE TABLE unannounced (id bigint NOT NULL);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO unannounced SELECT id FROM new_rows;
    RETURN NULL;
END $$;";
const TRIGGER: &str = "
CREATE TRIGGER note AFTER INSERT ON product
REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note();
ANALYZE product";

/// The table, and how often it was asked for a row.
pub struct Table {
    config: Config,
    clients: Vec<Client>,
    turn: AtomicUsize,
    asked: AtomicU64,
    asked_in_vain: AtomicU64,
}

impl Table {
    /// Connects to the database and creates the table with these rows in it.
    ///
    /// # Errors
    /// Of the database.
    pub async fn create(config: Config, ids: &[i64]) -> Outcome<Table> {
        let mut clients = Vec::new();
        for _ in 0..CONNECTIONS {
            clients.push(connect(&config).await?);
        }
        clients[0].batch_execute(SCHEMA).await?;
        let copy = clients[0].copy_in("COPY product FROM STDIN").await?;
        pin_mut!(copy);
        for ids in ids.chunks(10_000) {
            let lines: String = ids.iter().map(|id| format!("{id}\tproduct {id}\n")).collect();
            copy.send(axum::body::Bytes::from(lines)).await?;
        }
        copy.finish().await?;
        clients[0].batch_execute(TRIGGER).await?;
        Ok(Table {
            config,
            clients,
            turn: AtomicUsize::new(0),
            asked: AtomicU64::new(0),
            asked_in_vain: AtomicU64::new(0),
        })
    }

    fn client(&self) -> &Client {
        &self.clients[self.turn.fetch_add(1, Relaxed) % CONNECTIONS]
    }

    /// How many rows were asked for, and how many of those are not there.
    pub fn asked(&self) -> (u64, u64) {
        (self.asked.load(Relaxed), self.asked_in_vain.load(Relaxed))
    }

    /// # Errors
    /// Of the database.
    pub async fn find(&self, id: i64) -> Outcome<Option<String>> {
        self.asked.fetch_add(1, Relaxed);
        let query = "SELECT name FROM product WHERE id = $1";
        let types = [tokio_postgres::types::Type::INT8];
        let rows = self.client().query_typed(query, &[(&id, types[0].clone())]).await?;
        if rows.is_empty() {
            self.asked_in_vain.fetch_add(1, Relaxed);
        }
        Ok(rows.first().map(|row| row.get(0)))
    }

    /// Inserts a row and commits.
    ///
    /// # Errors
    /// Of the database.
    pub async fn insert(&self, id: i64, name: &str) -> Outcome<()> {
        let statement = "INSERT INTO product VALUES ($1, $2)";
        self.client().execute(statement, &[&id, &name]).await?;
        Ok(())
    }

    /// Deletes a row and commits; returns whether there was one.
    ///
    /// # Errors
    /// Of the database.
    pub async fn delete(&self, id: i64) -> Outcome<bool> {
        let statement = "DELETE FROM product WHERE id = $1";
        Ok(self.client().execute(statement, &[&id]).await? == 1)
    }

    /// Some ids that the filter has not been told of.
    ///
    /// # Errors
    /// Of the database.
    pub async fn unannounced(&self) -> Outcome<Vec<i64>> {
        let query = "SELECT id FROM unannounced LIMIT $1";
        let rows = self.client().query(query, &[&UNANNOUNCED]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// # Errors
    /// Of the database.
    pub async fn announced(&self, ids: &[i64]) -> Outcome<()> {
        let statement = "DELETE FROM unannounced WHERE id = ANY ($1)";
        self.client().execute(statement, &[&ids]).await?;
        Ok(())
    }

    /// About how many rows there are.
    ///
    /// # Errors
    /// Of the database.
    pub async fn count(&self) -> Outcome<u64> {
        let row = self.client().query_one("SELECT count(*) FROM product", &[]).await?;
        Ok(row.get::<_, i64>(0) as u64)
    }

    /// All ids that are committed now, on a connection of their own: the others stay free.
    ///
    /// # Errors
    /// Of the database.
    pub async fn ids(&self) -> Outcome<impl Stream<Item = Result<i64, tokio_postgres::Error>>> {
        let client = connect(&self.config).await?;
        let none: [i64; 0] = [];
        let rows = client.query_raw("SELECT id FROM product", none).await?;
        // The client goes with the stream: without it the connection would end.
        Ok(rows.map_ok(move |row| {
            let _ = &client;
            row.get(0)
        }))
    }
}

async fn connect(config: &Config) -> Outcome<Client> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
