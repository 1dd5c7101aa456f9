//! Tests of the image `splitbloom` and of the cluster in docker/compose.yml.
//!
//! They need a container engine and the image. `scripts/container-tests` builds the image first, or
//! lists the tests as skipped if no engine answers. `SPLITBLOOM_COMPOSE` is the Compose command, by
//! default `docker compose`.

mod cluster;
mod compose;
mod docker;
mod image;
mod items;
mod patience;
mod replication;
mod server;
mod volume;
