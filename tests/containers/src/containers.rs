//! Tests of the image `splitbloom`, and of the cluster that docker/compose.yml makes of it.
//!
//! They need a container engine and the image; `scripts/container-tests` builds it first, and names the tests that are
//! skipped where no engine answers. `SPLITBLOOM_COMPOSE` is the command that is Compose here, `docker compose` unless said.

mod cluster;
mod compose;
mod docker;
mod image;
mod items;
mod patience;
mod replication;
mod server;
mod volume;
