//! What goes wrong is one line, and an exit code for scripts.

use crate::tool::{tool, tool_on, url, Folder, Runs};
use splitbloom_harness::Server;

#[test]
fn every_kind_of_failure_has_its_exit_code() {
    let (server, mut db) = Server::start().with_client();
    db.run("CONFIG SET requirepass secret");
    let info = || tool_on(&server, &["info", "users"]);
    let message = info().env("SPLITBLOOM_PASSWORD", "secret").error(6);
    let missing = "there is no such key: users; nor is there a file of this name";
    assert_eq!(message, missing);
    tool(&["info", "users", "--url", "redis://127.0.0.1:1"]).error_with(3, "no connection");
    let message = tool(&["info", "users", "--url", "redis://:secret@host:port"]).error(2);
    assert!(!message.contains("secret"), "{message}");
    let of_url = url(&server).replace("://", "://:secret@");
    let message = tool(&["info", "users", "--url", &of_url]).error(6);
    assert_eq!(message, missing);
    tool(&["info", "users", "--url", "localhost:6379"]).error_with(2, "it begins with redis://");
    // The harness checks the server at the end, without a password.
    db.call(["CONFIG", "SET", "requirepass", ""]);
}

#[test]
fn a_login_that_is_refused_is_said_in_plain_words() {
    let (server, folder) = (Server::start(), Folder::new());
    let file = folder.path("few.sbf");
    tool(&["build", &folder.file("few", b"a\n"), "-o", &file]).prints();
    let mut db = server.connect();
    db.run("CONFIG SET requirepass secret");
    let here = url(&server);
    for command in [
        ["info", "users"].as_slice(),
        &["load", "users"],
        &["check", "users"],
        &["unload", "users"],
        &["push", &file, "users"],
        &["pull", "users", "-o", &folder.path("users")],
        &["load", "users", "--cluster"],
    ] {
        let message = tool_on(&server, command).error(3);
        let expected =
            "the server wants a password (NOAUTH): SPLITBLOOM_PASSWORD or --url may have it";
        assert_eq!(message, expected, "{command:?}");
        let message = tool_on(&server, command).env("SPLITBLOOM_PASSWORD", "wrong").error(3);
        let expected = "wrong user name or password, or no such user (WRONGPASS)";
        assert_eq!(message, expected, "{command:?}");
    }
    let mut load = tool_on(&server, &["load", "users"]);
    let run = load.env("REDISCLI_AUTH", "secret").run_with(b"a\n");
    assert_eq!(run.stdout, "1 items, 1 new\n", "{run:?}");
    let message = tool(&["compare", &here, &here, "users"]).error(3);
    let expected = format!("127.0.0.1:{}: the server wants a password", server.port());
    assert!(message.starts_with(&expected), "{message}");
    assert_eq!(folder.names(), ["few", "few.sbf"]);
    // The harness checks the server at the end, without a password.
    db.call(["CONFIG", "SET", "requirepass", ""]);
}

#[test]
fn a_check_of_a_file_names_the_commands_for_files() {
    let (server, folder) = (Server::start(), Folder::new());
    let (items, file) = (folder.file("few", b"a\n"), folder.path("few.sbf"));
    tool(&["build", &items, "-o", &file]).prints();
    for (code, at) in [(6, url(&server)), (3, "redis://127.0.0.1:1".into())] {
        let message = tool(&["check", &file, &items, "--url", &at]).error(code);
        let hint = format!("{file} is a file: `info` describes it, `push` takes it to a server");
        assert!(message.ends_with(&hint), "{message}");
        let message = tool(&["check", &items, &items, "--url", &at]).error(code);
        assert!(!message.contains("is a file"), "{message}");
    }
}

#[test]
fn a_number_out_of_range_is_refused_with_those_that_are_allowed() {
    for (arguments, allowed) in [
        (["build", "--capacity", "0"], "from 1 to 1099511627776"),
        (["load", "--capacity", "1e20"], "from 1 to "),
        (["load", "--error", "200%"], "above 0 and below 1"),
        (["load", "--seed", "12"], "sixteen hexadecimal digits"),
        (["load", "--window", "20y"], "from 1 to 315360000 seconds"),
        (["size", "--memory", "lots"], "64MiB"),
    ] {
        let run = tool(&arguments).run();
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(allowed), "{run:?}");
    }
}
