//! Compose, and the cluster in docker/compose.yml, with a name and ports of its own; removed when
//! the test ends.

use crate::docker::{docker, output, own_name};
use crate::patience::{connected, eventually};
use redis::Connection;
use std::env;
use std::process::Command;

pub const NODES: [&str; 6] = ["node-1", "node-2", "node-3", "node-4", "node-5", "node-6"];

/// Runs a Compose command for a project made from a file of the repository, with these variables.
pub fn compose(
    file: &str,
    project: &str,
    variables: impl IntoIterator<Item = (String, String)>,
    arguments: &[&str],
) -> String {
    let file = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
    let compose = env::var("SPLITBLOOM_COMPOSE").unwrap_or_else(|_| "docker compose".into());
    let mut words = compose.split(' ');
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words).args(["--file", &file, "--project-name", project]).envs(variables);
    output(command.args(arguments))
}

pub struct Cluster {
    project: String,
}

impl Cluster {
    /// Starts the cluster and waits until it is ready.
    pub fn start() -> Cluster {
        let cluster = Cluster { project: own_name("cluster") };
        cluster.form();
        cluster
    }

    /// Starts the containers that are not running, and waits until the cluster is ready.
    pub fn form(&self) {
        self.compose(&["up", "--detach"]);
        let forming = self.container("cluster");
        let ended = eventually("the cluster to form", || {
            let state = ["inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}"];
            let state = docker(&[&state[..], &[forming.as_str()]].concat());
            state.starts_with("exited ").then_some(state)
        });
        assert_eq!(ended, "exited 0", "{}", docker(&["logs", &forming]));
    }

    /// Runs a Compose command for this cluster.
    pub fn compose(&self, arguments: &[&str]) -> String {
        // An empty number lets the engine choose a port.
        let ports = (1..=NODES.len()).map(|number| (format!("PORT_{number}"), String::new()));
        compose("docker/compose.yml", &self.project, ports, arguments)
    }

    /// The container of a service, running or not. Asking the engine is much faster than asking
    /// Compose.
    fn container(&self, service: &str) -> String {
        let project = format!("label=com.docker.compose.project={}", self.project);
        let service = format!("label=com.docker.compose.service={service}");
        docker(&["ps", "--all", "--quiet", "--filter", &project, "--filter", &service])
    }

    /// The output of the image's redis-cli, run on a node and following redirects.
    pub fn redis_cli(&self, node: &str, line: &[&str]) -> String {
        let container = self.container(node);
        docker(&[&["exec", &container, "redis-cli", "-c"], line].concat())
    }

    pub fn connect(&self, node: &str) -> Connection {
        eventually("a connection to a node", || {
            connected(&docker(&["port", &self.container(node), "6379/tcp"]))
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.compose(&["down", "--volumes", "--timeout", "0"]);
    }
}
