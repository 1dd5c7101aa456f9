//! Tests of the images `splitbloom` and `splitbloom-modules`, and of what uses them: the cluster in
//! docker/compose.yml, docker/public and packaging/kubernetes.
//!
//! They need a container engine and the images. `scripts/container-tests` builds these first, or
//! lists the tests as skipped if no engine answers. `SPLITBLOOM_COMPOSE` is the Compose command, by
//! default `docker compose`.

mod cluster;
mod compose;
mod docker;
mod image;
mod items;
mod modules;
mod patience;
mod replication;
mod server;
mod volume;
