//! The service over HTTP: `GET`, `PUT` and `DELETE /products/ID`.

use crate::service::Service;
use crate::Outcome;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::Router;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

type Shared = State<Arc<Service>>;
type Reply = (StatusCode, String);

/// A server; dropping it stops it.
pub struct Web {
    pub address: SocketAddr,
    _tasks: JoinSet<()>,
}

/// Serves on a free loopback port, and keeps the filter.
///
/// # Errors
/// There is no free port.
pub async fn serve(service: Arc<Service>) -> Outcome<Web> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let mut tasks = JoinSet::new();
    if service.cache.has_filter() {
        tasks.spawn(service.clone().keep());
    }
    let products = get(find).put(create).delete(remove);
    let router = Router::new().route("/products/{id}", products).with_state(service);
    tasks.spawn(async move { axum::serve(listener, router).await.unwrap_or_default() });
    Ok(Web { address, _tasks: tasks })
}

async fn find(State(service): Shared, Path(id): Path<i64>) -> Reply {
    match service.find(id).await {
        Ok(Some(name)) => (StatusCode::OK, name),
        Ok(None) => (StatusCode::NOT_FOUND, String::new()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}

async fn create(State(service): Shared, Path(id): Path<i64>, name: String) -> Reply {
    match service.create(id, &name).await {
        Ok(true) => (StatusCode::CREATED, String::new()),
        Ok(false) => (StatusCode::ACCEPTED, String::new()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}

async fn remove(State(service): Shared, Path(id): Path<i64>) -> Reply {
    match service.remove(id).await {
        Ok(true) => (StatusCode::NO_CONTENT, String::new()),
        Ok(false) => (StatusCode::NOT_FOUND, String::new()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}
