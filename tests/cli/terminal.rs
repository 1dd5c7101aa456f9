//! What a person sees.

use crate::tool::{tool_on, Folder};
use splitbloom_harness::Server;
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Stdio;
use std::ptr::{null, null_mut};

/// Two ends of a terminal: what a person has, and what a program has.
#[allow(unsafe_code, reason = "a system call")]
fn terminal() -> (File, OwnedFd) {
    let (mut person, mut program) = (-1, -1);
    let size = libc::winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the two numbers are written, the size is read, the others may be null.
    let opened = unsafe { libc::openpty(&mut person, &mut program, null_mut(), null(), &size) };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the call has just opened it, and nobody else owns it.
    let person = unsafe { File::from_raw_fd(person) };
    // SAFETY: the same.
    let program = unsafe { OwnedFd::from_raw_fd(program) };
    (person, program)
}

/// What is shown until every program has closed the terminal, which Linux reports as an error.
fn shown(mut person: File) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(len @ 1..) = person.read(&mut piece) {
        bytes.extend_from_slice(&piece[..len]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_terminal_shows_how_far_a_load_is_and_a_pipe_nothing() {
    let (server, work) = (Server::start(), Folder::new());
    let lines: String = (0..300_000).map(|number| format!("line {number}\n")).collect();
    let file = work.file("items", lines.as_bytes());
    let (person, program) = terminal();
    let mut load = tool_on(&server, &["load", "seen", &file]);
    // Where it is not set, as in services, no terminal is assumed.
    load.env("TERM", "xterm").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(program);
    let child = load.spawn().expect("it starts");
    drop(load); // and with it the program's end of the terminal
    let shown = shown(person);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{shown}");
    for part in [" items [", "/s ", " left"] {
        assert!(shown.contains(part), "{part:?} in {shown:?}");
    }
    assert!(output.stdout.starts_with(b"300000 items, "));

    let output = tool_on(&server, &["load", "seen", &file]).output().expect("it ends");
    assert_eq!(output.stdout, b"300000 items, 0 new\n");
    assert_eq!(output.stderr, b"");
}
