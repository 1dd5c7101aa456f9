//! How a request is answered, and how the filter is kept: the recipe.

use crate::cache::{Cache, Filling, Known};
use crate::table::Table;
use crate::Outcome;
use futures_util::{pin_mut, TryStreamExt};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const ERROR_RATE: f64 = 0.01;
/// Ids in a round trip while the filter is filled.
const BATCH: usize = 10_000;
/// How long a row may be without the filter's knowing, if whoever wrote it died after the commit.
const SWEEP: Duration = Duration::from_secs(1);

pub struct Service {
    pub cache: Cache,
    pub table: Table,
    lost: Notify,
}

impl Service {
    pub fn new(cache: Cache, table: Table) -> Service {
        Service { cache, table, lost: Notify::new() }
    }

    /// The name of a product.
    ///
    /// # Errors
    /// Of the database. Without the cache the database is asked.
    pub async fn find(&self, id: i64) -> Outcome<Option<String>> {
        match self.cache.look_up(id).await {
            Ok(Known::Row(name)) => return Ok(Some(name)),
            Ok(Known::Absent) => return Ok(None),
            Ok(Known::NoFilter) => self.lost.notify_one(),
            Ok(Known::Nothing) | Err(_) => {}
        }
        let name = self.table.find(id).await?;
        self.cache.remember(id, name.as_deref()).await.ok();
        Ok(name)
    }

    /// Adds a product. Returns whether the filter has it: until then it may be taken for absent, so
    /// the caller must not count on it. If the cache refuses the add or does not answer, `keep`
    /// adds it later.
    ///
    /// # Errors
    /// Of the database.
    pub async fn create(&self, id: i64, name: &str) -> Outcome<bool> {
        self.table.insert(id, name).await?;
        let is_announced = self.cache.announce(&[id]).await.is_ok();
        if is_announced {
            // A request may just have been told that there is no such row, and keep that as a
            // proof. The row in the cache is found first, and outlives it.
            self.cache.remember(id, Some(name)).await.ok();
            self.table.announced(&[id]).await?;
        }
        Ok(is_announced)
    }

    /// Removes a product; returns whether there was one.
    ///
    /// # Errors
    /// Of the database.
    pub async fn remove(&self, id: i64) -> Outcome<bool> {
        let was_there = self.table.delete(id).await?;
        if was_there {
            self.cache.forget(id).await.ok();
        }
        Ok(was_there)
    }

    /// Fills a new filter from the table and swaps it in, for the first time, after a loss, or to
    /// be rid of deleted ids. Calls `progress` with the ids added, and returns whether it did all,
    /// or somebody else does.
    ///
    /// No id is missed: the new filter is there before the query's snapshot is taken, and a row
    /// that the snapshot lacks is announced to the new filter after its commit.
    ///
    /// # Errors
    /// Of the database or the cache. The old filter, if any, is as it was.
    pub async fn fill(&self, progress: impl FnMut(usize)) -> Outcome<bool> {
        let capacity = self.table.count().await? * 5 / 4;
        let Some(mut filling) = self.cache.begin(ERROR_RATE, capacity.max(1_000)).await? else {
            return Ok(false);
        };
        let filled = self.fill_with_all(&mut filling, progress).await;
        if filled.is_err() {
            filling.give_up().await;
        }
        filled
    }

    async fn fill_with_all(
        &self,
        filling: &mut Filling<'_>,
        mut progress: impl FnMut(usize),
    ) -> Outcome<bool> {
        let ids = self.table.ids().await?.try_chunks(BATCH);
        pin_mut!(ids);
        while let Some(ids) = ids.try_next().await? {
            filling.add(&ids).await?;
            progress(ids.len());
        }
        Ok(filling.finish().await?)
    }

    /// Keeps the filter as long as the service runs: fills it when a request finds it missing, and
    /// announces rows that nobody did.
    pub async fn keep(self: Arc<Self>) {
        loop {
            let kept = tokio::select! {
                () = self.lost.notified() => self.refill().await,
                () = tokio::time::sleep(SWEEP) => self.announce_rest().await,
            };
            if let Err(error) = kept {
                eprintln!("keeping the filter: {error}; trying again");
                tokio::time::sleep(SWEEP).await;
            }
        }
    }

    /// Fills the filter if it is still lost: many requests may have found that at once.
    async fn refill(&self) -> Outcome<()> {
        if self.cache.has_lost_filter().await? && !self.fill(|_| {}).await? {
            tokio::time::sleep(SWEEP).await; // somebody else does
        }
        Ok(())
    }

    async fn announce_rest(&self) -> Outcome<()> {
        let ids = self.table.unannounced().await?;
        if !ids.is_empty() {
            self.cache.announce(&ids).await?;
            self.table.announced(&ids).await?;
        }
        Ok(())
    }
}
