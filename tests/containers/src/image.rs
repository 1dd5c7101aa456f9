//! The image alone: its commands, its user, its arguments.

use crate::docker::docker;
use crate::server::{image, image_that_waits_for, Server};
use redis::cmd;
use std::fs;
use testcontainers::core::WaitFor;
use testcontainers::ImageExt;

/// One setting of the server.
fn setting(server: &Server, name: &str) -> String {
    let mut db = server.connect();
    let pair: Vec<String> = cmd("CONFIG").arg("GET").arg(name).query(&mut db).expect("CONFIG GET");
    pair[1].clone()
}

#[test]
fn the_server_is_not_root_and_owns_its_folder() {
    let server = Server::start(image(&[]));
    let (status, _) = server.run(&["cat", "/proc/1/status"]);
    let users = status.lines().find(|line| line.starts_with("Uid:"));
    assert_eq!(users, Some("Uid:\t999\t999\t999\t999"));
    let (folder, _) = server.run(&["stat", "-c", "%u %a", "/data"]);
    assert_eq!(folder, "999 700");
}

#[test]
fn arguments_reach_the_server_and_the_module() {
    let server =
        Server::start(image(&["--maxmemory", "100mb", "--bf.error-rate", "0.0001", "--save", ""]));
    assert_eq!(setting(&server, "maxmemory"), "104857600");
    assert_eq!(setting(&server, "bf.error-rate"), "0.0001");
    assert_eq!(setting(&server, "save"), "");
    assert_eq!(setting(&server, "dir"), "/data");
}

#[test]
fn the_servers_name_as_first_argument_changes_nothing() {
    let server = Server::start(image(&["redis-server", "--maxmemory", "100mb"]));
    assert_eq!(setting(&server, "maxmemory"), "104857600");
    let mut db = server.connect();
    let new: bool = cmd("BF.ADD").arg("seen").arg("alice").query(&mut db).unwrap();
    assert!(new);
}

#[test]
fn a_configuration_file_is_read_and_can_be_rewritten() {
    let file = "protected-mode no\nmaxmemory 100mb\nbf.initial-size 5000\n";
    let request = image(&["/data/own.conf", "--maxclients", "77"])
        .with_copy_to("/data/own.conf", file.as_bytes().to_vec());
    let server = Server::start(request);
    assert_eq!(setting(&server, "maxmemory"), "104857600");
    assert_eq!(setting(&server, "maxclients"), "77");
    assert_eq!(setting(&server, "bf.initial-size"), "5000");

    // The file now loads the module too; it must not be loaded twice.
    let _: () = cmd("CONFIG").arg("REWRITE").query(&mut server.connect()).expect("CONFIG REWRITE");
    let (written, _) = server.run(&["cat", "/data/own.conf"]);
    assert!(written.contains("loadmodule "), "{written}");
    server.stop();
    server.start_again();
    assert_eq!(setting(&server, "bf.initial-size"), "5000");
}

#[test]
fn any_other_program_is_run_unchanged() {
    let printed = docker(&["run", "--rm", "splitbloom", "stat", "-c", "%U", "/data"]);
    assert!(["redis", "valkey"].contains(&printed.as_str()), "{printed}");
    let version = docker(&["run", "--rm", "splitbloom", "--version"]);
    assert!(version.contains("v="), "{version}");
}

#[test]
fn the_health_check_passes_for_a_running_server() {
    let server = Server::start(image_that_waits_for(WaitFor::healthcheck(), &[]));
    let mut db = server.connect();
    let _: bool = cmd("BF.ADD").arg("seen").arg("alice").query(&mut db).unwrap();
}

#[test]
fn the_health_check_passes_with_a_password_and_on_another_port() {
    let check = ["/usr/local/bin/splitbloom/healthcheck"];
    let guarded = Server::start(image(&["--requirepass", "secret"]));
    assert_eq!(guarded.run(&check).1, 0);
    let elsewhere = Server::start(image(&[]).with_env_var("PORT", "7000"));
    assert_eq!(elsewhere.run(&check).1, 0);
}

#[test]
fn the_health_check_fails_without_a_server() {
    let idle = Server::start(image_that_waits_for(WaitFor::Nothing, &["sleep", "600"]));
    assert_ne!(idle.run(&["/usr/local/bin/splitbloom/healthcheck"]).1, 0);
}

#[test]
fn the_images_version_is_that_of_the_sources() {
    let label = r#"{{index .Config.Labels "org.opencontainers.image.version"}}"#;
    let said = docker(&["image", "inspect", "--format", label, "splitbloom"]);
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let manifest = fs::read_to_string(manifest).expect("the module's Cargo.toml");
    assert!(manifest.contains(&format!("\nversion = \"{said}\"\n")), "{said}");
}
