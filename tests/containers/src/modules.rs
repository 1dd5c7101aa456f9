//! The image `splitbloom-modules`, and the examples that use it, in docker/public and
//! packaging/kubernetes.

use crate::compose::compose;
use crate::docker::{docker, output, own_name, Own};
use crate::patience::eventually;
use std::fs;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// One test at a time: the engine knows equal images as one, so it would remove for one test what
/// it builds for another.
fn take_turns() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn build(folder: &str, options: &[&str]) -> Own {
    let image = Own::new("image");
    let folder = format!("{ROOT}/{folder}");
    docker(&[&["build", "--tag", &image.name], options, &[folder.as_str()]].concat());
    image
}

fn server_without_modules() -> Own {
    build("tests/containers/server", &[])
}

fn server_with_modules() -> Own {
    let server = server_without_modules();
    build("docker/public", &["--build-arg", &format!("SERVER={}", server.name)])
}

#[test]
fn the_image_of_the_modules_has_two_files_and_at_most_10_megabytes() {
    let _turn = take_turns();
    let size = docker(&["image", "inspect", "--format", "{{.Size}}", "splitbloom-modules"]);
    assert!(size.parse::<u64>().expect("a number") <= 10_000_000, "{size}");
    // Listed in an image that copies the files: the image itself has no program to list them.
    let copied = server_with_modules();
    let list = "cd /usr/lib/splitbloom && find . -mindepth 1 -printf '%m %y %p\n' | sort";
    let files = docker(&["run", "--rm", &copied.name, "sh", "-c", list]);
    assert_eq!(files, "755 f ./libsplitbloom.so\n755 f ./libsplitsketch.so");
}

/// The servers of docker/public/compose.yml, removed when the test ends.
struct Public {
    server: Own,
    project: String,
}

impl Public {
    fn compose(&self, arguments: &[&str]) -> String {
        let server = self.server.name.as_str();
        // An empty number lets the engine choose a port.
        let variables =
            [("REDIS", server), ("VALKEY", server), ("REDIS_PORT", ""), ("VALKEY_PORT", "")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        compose("docker/public/compose.yml", &self.project, variables, arguments)
    }
}

impl Drop for Public {
    fn drop(&mut self) {
        self.compose(&["down", "--volumes", "--rmi", "local", "--timeout", "0"]);
    }
}

#[test]
fn the_public_images_serve_the_modules_with_compose() {
    let _turn = take_turns();
    let public = Public { server: server_without_modules(), project: own_name("public") };
    public.compose(&["up", "--detach"]);
    for client in ["redis-cli", "valkey-cli"] {
        let service = client.trim_end_matches("-cli");
        let script = format!(
            "until {client} PING >&2; do sleep 0.1; done
            {client} BF.ADD seen alice; {client} CMS.INITBYDIM counts 100 5"
        );
        let replies = public.compose(&["exec", "-T", service, "sh", "-c", &script]);
        assert_eq!(replies, "1\nOK");
    }
}

/// The commands of a manifest, in order.
fn commands(manifest: &str) -> Vec<Vec<String>> {
    let path = format!("{ROOT}/packaging/kubernetes/{manifest}");
    let text = fs::read_to_string(path).expect("the manifest");
    let lists =
        text.split("command: [").skip(1).map(|rest| rest.split(']').next().expect("a part"));
    let word = |word: &str| word.trim().trim_matches('"').to_owned();
    lists.map(|list| list.split(',').map(word).collect()).collect()
}

/// Runs the command of a manifest's server as its pod does, waits until it is ready, and uses it.
fn assert_it_serves(image: &Own, command: &[String], probe: &[String], options: &[&str]) {
    let pod = Own::new("container");
    let mut run = Command::new("docker");
    run.args(["run", "--detach", "--user", "999:999", "--tmpfs", "/data:uid=999"]);
    run.args(["--name", &pod.name]).args(options);
    output(run.args(["--entrypoint", &command[0], &image.name]).args(&command[1..]));
    let ask = |line: &[&str]| {
        let mut exec = Command::new("docker");
        exec.args(["exec", &pod.name]).args(line).output().expect("the engine's client")
    };
    let probe: Vec<&str> = probe.iter().map(String::as_str).collect();
    eventually("the probe", || ask(&probe).status.success().then_some(()));
    let line = ["valkey-cli", "BF.ADD", "seen", "alice"];
    assert_eq!(String::from_utf8_lossy(&ask(&line).stdout), "1\n");
}

#[test]
fn a_pod_with_the_modules_from_an_image_volume_serves_them() {
    let _turn = take_turns();
    // This engine cannot mount images; the files are in the same place.
    let [server, probe] = &commands("image-volume.yml")[..] else { panic!("two commands") };
    assert_it_serves(&server_with_modules(), server, probe, &[]);
}

#[test]
fn a_pod_whose_init_container_copies_the_modules_serves_them() {
    let _turn = take_turns();
    let [copy, server, probe] = &commands("init-container.yml")[..] else {
        panic!("three commands")
    };
    let volume = Own::new("volume");
    let mount = format!("{}:/usr/lib/splitbloom", volume.name);
    let as_root = ["run", "--rm", "--user", "0", "--volume", &mount, "splitbloom"];
    let as_fs_group_does = ["install", "--directory", "--group=999", "--mode=775"];
    docker(&[&as_root[..], &as_fs_group_does, &["/usr/lib/splitbloom"]].concat());
    let mut run = Command::new("docker");
    run.args(["run", "--rm", "--user", "999:999", "--volume", &mount, "--entrypoint", &copy[0]]);
    output(run.arg("splitbloom").args(&copy[1..]));
    assert_it_serves(
        &server_without_modules(),
        server,
        probe,
        &["--volume", &format!("{mount}:ro")],
    );
}
