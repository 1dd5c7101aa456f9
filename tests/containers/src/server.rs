//! A container that runs the image.

use crate::patience::{connected, eventually, PATIENCE};
use redis::Connection;
use testcontainers::core::{ExecCommand, IntoContainerPort, WaitFor};
use testcontainers::runners::SyncRunner;
use testcontainers::{Container, ContainerRequest, GenericImage, ImageExt};

pub const PORT: u16 = 6379;

pub type Request = ContainerRequest<GenericImage>;

/// A request for the image with these arguments, not started yet. The container is ready when the
/// server logs that it is.
pub fn image(arguments: &[&str]) -> Request {
    let ready = WaitFor::message_on_stdout("Ready to accept connections");
    image_that_waits_for(ready, arguments)
}

pub fn image_that_waits_for(ready: WaitFor, arguments: &[&str]) -> Request {
    GenericImage::new("splitbloom", "latest")
        .with_exposed_port(PORT.tcp())
        .with_wait_for(ready)
        .with_startup_timeout(PATIENCE)
        .with_cmd(arguments.iter().copied())
}

pub struct Server(Container<GenericImage>);

impl Server {
    pub fn start(request: Request) -> Server {
        Server(request.start().expect("the image starts"))
    }

    /// A connection from outside, through the published port.
    pub fn connect(&self) -> Connection {
        let host = self.0.get_host().expect("the engine has an address");
        eventually("a connection to the server", || {
            let port = self.0.get_host_port_ipv4(PORT).ok()?;
            connected(&format!("{host}:{port}"))
        })
    }

    /// The output and exit status of a program in the container.
    pub fn run(&self, command: &[&str]) -> (String, i64) {
        let mut done =
            self.0.exec(ExecCommand::new(command.iter().copied())).expect("the program starts");
        let printed = done.stdout_to_vec().expect("the output is readable");
        let status = eventually("the exit of a program", || {
            done.exit_code().expect("the engine knows the program")
        });
        (String::from_utf8_lossy(&printed).trim().to_owned(), status)
    }

    /// Stops the container like `docker stop`: the server is asked to exit and saves.
    pub fn stop(&self) {
        let seconds = PATIENCE.as_secs() as i32;
        self.0.stop_with_timeout(Some(seconds)).expect("the container stops");
    }

    /// Kills the container, like a power failure.
    pub fn kill(&self) {
        crate::docker::docker(&["kill", self.0.id()]);
    }

    pub fn start_again(&self) {
        self.0.start().expect("the container starts again");
    }
}
