//! Ctrl-C, and other requests to end.

use crate::tool::{tool, tool_on, Folder, Runs};
use splitbloom_harness::{eventually, Server};
use std::fs;
use std::io::Write as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, Stdio};

#[allow(unsafe_code, reason = "a system call")]
fn signal(child: &Child, signal: i32) {
    let id = i32::try_from(child.id()).expect("a process");
    // SAFETY: the call takes numbers. The process is a child that nobody has waited for, so the
    // number is not that of another one.
    let sent = unsafe { libc::kill(id, signal) };
    assert_eq!(sent, 0, "{}", std::io::Error::last_os_error());
}

/// Starts a process that ignores no signal, even if the tests themselves run in the background of a
/// script.
#[allow(unsafe_code, reason = "a system call between fork and exec")]
fn spawn(command: &mut Command) -> Child {
    let heed_all = || {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: the call takes numbers, and may be made between fork and exec.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: what runs between fork and exec neither allocates nor takes a lock.
    unsafe { command.pre_exec(heed_all) };
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

#[test]
fn a_load_that_is_interrupted_or_killed_resumes_where_its_checkpoint_says() {
    let (server, folder) = (Server::start(), Folder::new());
    let lines: String = (0..5_000_000).map(|number| format!("line {number}\n")).collect();
    let items = folder.file("items", lines.as_bytes());
    let checkpoint = folder.path("done");
    let words = ["load", "seen", &items, "--checkpoint", &checkpoint];
    for by in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGKILL] {
        let before = fs::read(&checkpoint).ok();
        let load = spawn(&mut tool_on(&server, &words));
        eventually("the load has gone on", || {
            fs::read(&checkpoint).is_ok_and(|now| Some(now) != before)
        });
        signal(&load, by);
        let output = load.wait_with_output().expect("it ends");
        let message = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.signal(), Some(by), "{message}");
        assert_eq!(folder.names(), ["done", "items"]);
        if by == libc::SIGKILL {
            break; // without a word
        }
        let loaded = message.strip_prefix("splitbloom: interrupted; loaded ");
        let loaded = loaded.and_then(|rest| rest.split_once(" items; the same command goes on"));
        let loaded: u64 = loaded.and_then(|(loaded, _)| loaded.parse().ok()).expect("a number");
        let text = fs::read_to_string(&checkpoint).expect("the last checkpoint");
        assert!(text.contains(&format!("\"items\": {loaded},")), "{message}{text}");
    }
    let text = tool_on(&server, &words).prints();
    assert!(text.starts_with("5000000 items ("), "{text}");
    let missing = ["check", "seen", &items, "--missing", "--count"];
    assert_eq!(tool_on(&server, &missing).prints(), "0\n");
    assert_eq!(folder.names(), ["items"]);
}

/// Whether the process has a file open in this folder, with or without a name.
fn writes_in(child: &Child, folder: &Folder) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", child.id())).expect("a process");
    let mut files = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    files.any(|file| file.starts_with(folder.path("")))
}

#[test]
fn a_command_that_is_interrupted_or_killed_leaves_no_file() {
    let folder = Folder::new();
    let file = folder.path("file.sbf");
    let build = ["build", "-o", &file, "--capacity", "1000"];
    for by in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGKILL] {
        let mut child = spawn(&mut tool(&build));
        let stdin = child.stdin.take(); // at its end the file would be finished
        eventually("the file is begun", || writes_in(&child, &folder));
        signal(&child, by);
        let output = child.wait_with_output().expect("it ends");
        drop(stdin);
        assert_eq!(output.status.signal(), Some(by), "{output:?}");
        assert_eq!(folder.names().len(), 0);
    }
}

#[test]
fn a_signal_that_the_process_was_started_to_ignore_is_ignored() {
    let folder = Folder::new();
    let file = folder.path("file.sbf");
    let build = tool(&["build", "-o", &file, "--capacity", "1000"]);
    // As nohup does, and a script that starts a command in the background.
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' INT HUP; exec \"$@\"", "sh"]);
    shell.arg(build.get_program()).args(build.get_args());
    let mut child = spawn(&mut shell);
    eventually("the file is begun", || writes_in(&child, &folder));
    signal(&child, libc::SIGINT);
    signal(&child, libc::SIGHUP);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"a\nb\n").expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert!(tool(&["info", &file]).prints().contains("inserted      2\n"));
}
