//! Files that the tool writes, whatever the name it is given.

use crate::tool::{tool, tool_on, Folder, Runs};
use splitbloom_harness::Server;
use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{symlink, FileTypeExt as _, PermissionsExt as _};
use std::process::{Command, Stdio};

/// Creates a named pipe.
#[allow(unsafe_code, reason = "a system call")]
fn named_pipe(path: &str) {
    let name = CString::new(path).expect("no NUL");
    // SAFETY: the name ends with a NUL, and lives until the call returns.
    let made = unsafe { libc::mkfifo(name.as_ptr(), 0o600) };
    assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
}

/// The commands that write a file, without its name.
fn writers(server: &Server, folder: &Folder) -> [Vec<String>; 3] {
    server.connect().run("BF.ADD key item");
    let items = folder.file("items", b"a\nb\n");
    let one = folder.path("one.sbf");
    tool(&["build", &items, "-o", &one]).prints();
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    [words(&["build", &items]), words(&["merge", &one]), words(&["pull", "key"])]
}

fn writing(server: &Server, writer: &[String], more: &[&str]) -> Command {
    let words: Vec<&str> = writer.iter().map(String::as_str).collect();
    tool_on(server, &[&words, more].concat())
}

#[test]
fn a_file_that_is_no_filter_is_replaced_only_on_request_and_only_its_owner_reads_a_new_one() {
    let (server, folder) = (Server::start(), Folder::new());
    for (number, writer) in writers(&server, &folder).iter().enumerate() {
        let path = folder.path(&format!("{number}.sbf"));
        assert!(writing(&server, writer, &["-o", &path]).run().code == 0);
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it holds the seed");
        let old = folder.file(&format!("{number}.sbf"), b"old");
        let message = writing(&server, writer, &["-o", &old]).error(6);
        assert_eq!(message, format!("{old} exists already: --replace takes its place"));
        assert_eq!(fs::read(&old).expect("a file"), b"old");
        writing(&server, writer, &["-o", &old, "--replace"]).prints();
        tool(&["info", &old]).prints();
        writing(&server, writer, &["-o", &old]).prints(); // a filter
    }
    let names = ["0.sbf", "1.sbf", "2.sbf", "items", "one.sbf"];
    assert_eq!(folder.names(), names, "nothing else is left");
}

#[test]
fn an_input_is_never_the_output() {
    let (server, folder) = (Server::start(), Folder::new());
    let [build, merge, _] = writers(&server, &folder);
    let link = folder.path("link");
    for (writer, input, input_bytes) in [
        (&build, folder.path("items"), b"a\nb\n".to_vec()),
        (&merge, folder.path("one.sbf"), fs::read(folder.path("one.sbf")).expect("a file")),
    ] {
        fs::hard_link(&input, &link).expect("a link");
        for output in [&input, &link] {
            for more in [["-o", output].as_slice(), &["-o", output, "--replace"]] {
                writing(&server, writer, more).error_with(2, "is one of the inputs");
            }
        }
        fs::remove_file(&link).expect("the link");
        assert!(fs::read(&input).expect("a file") == input_bytes);
    }
    let items = folder.path("items");
    let run = tool(&["build", "-o", &items, "--capacity", "9", "--replace"])
        .stdin(fs::File::open(&items).expect("a file"))
        .output()
        .expect("it ends");
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    assert_eq!(fs::read(&items).expect("a file"), b"a\nb\n");
    assert_eq!(folder.names(), ["items", "one.sbf"]);
}

#[test]
fn nothing_but_a_regular_file_is_written() {
    let (server, folder) = (Server::start(), Folder::new());
    let target = folder.file("target", b"old");
    let [pipe, link, dangling] = ["pipe", "link", "dangling"].map(|name| folder.path(name));
    named_pipe(&pipe);
    symlink(&target, &link).expect("a link");
    symlink(folder.path("none"), &dangling).expect("a link");
    let outputs = [
        ("/dev/null", 5, "a device"),
        ("/dev/stdout", 5, "a symbolic link"),
        ("-", 2, "not to standard output"),
        (&pipe, 5, "a named pipe"),
        (&link, 5, "a symbolic link"),
        (&dangling, 5, "a symbolic link"),
        (&folder.path("."), 5, "a folder"),
    ];
    for writer in &writers(&server, &folder) {
        for (output, code, what) in outputs {
            writing(&server, writer, &["-o", output, "--replace"]).error_with(code, what);
        }
    }
    let kind = |path: &str| fs::symlink_metadata(path).expect("it exists").file_type();
    assert!(kind(&pipe).is_fifo() && kind(&link).is_symlink() && kind(&dangling).is_symlink());
    assert!(kind("/dev/null").is_char_device());
    assert_eq!(fs::read(&target).expect("a file"), b"old");
    // A checkpoint is a file as well.
    for (path, code) in [(&pipe, 5), (&link, 5), (&target, 6), (&folder.path("items"), 6)] {
        let load = ["load", "key", &folder.path("items"), "--checkpoint", path];
        tool_on(&server, &load).error(code);
    }
    assert!(kind(&pipe).is_fifo() && kind(&link).is_symlink());
    assert_eq!(fs::read(&target).expect("a file"), b"old");
}

#[test]
fn of_many_that_write_a_file_at_once_nothing_is_mixed() {
    let folder = Folder::new();
    let file = folder.path("all.sbf");
    let started = (0..8).map(|_| {
        let build = ["build", "-o", &file, "--capacity", "100000"];
        let mut build = tool(&build);
        build.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        build.spawn().expect("it starts")
    });
    let started: Vec<_> = started.collect();
    let codes = started.into_iter().map(|mut build| {
        drop(build.stdin.take());
        build.wait().expect("it ends").code()
    });
    let codes: Vec<_> = codes.collect();
    // A process that began without a file there may not replace one that came meanwhile.
    assert!(codes.contains(&Some(0)), "{codes:?}");
    let may_be = |code: &Option<i32>| matches!(code, Some(0 | 6));
    assert!(codes.iter().all(may_be), "{codes:?}");
    tool(&["info", &file]).prints();
    assert_eq!(folder.names(), ["all.sbf"]);
}
