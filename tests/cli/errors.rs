//! What goes wrong is one line, and an exit code for scripts.

use crate::harness::Server;
use crate::tool::{tool, tool_on, url, Runs};

#[test]
fn every_kind_of_failure_has_its_exit_code() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("CONFIG SET requirepass secret");
    let info = || tool_on(&server, &["info", "users"]);
    let message = info().error(3);
    assert!(message.contains("refused the login"), "{message}");
    let message = info().env("REDISCLI_AUTH", "wrong").error(3);
    assert!(message.contains("WRONGPASS"), "{message}");
    let message = info().env("SPLITBLOOM_PASSWORD", "secret").error(4);
    assert_eq!(message, "the server refused: ERR not found");
    let message = tool(&["info", "users", "--url", "redis://127.0.0.1:1"]).error(3);
    assert!(message.contains("no connection"), "{message}");
    let message = tool(&["info", "users", "--url", "redis://:secret@host:port"]).error(2);
    assert!(!message.contains("secret"), "{message}");
    let of_url = url(&server).replace("://", "://:secret@");
    let message = tool(&["info", "users", "--url", &of_url]).error(4);
    assert_eq!(message, "the server refused: ERR not found");
    // For the harness, which looks after the server in the end.
    db.call(["CONFIG", "SET", "requirepass", ""]);
}

#[test]
fn a_command_that_does_not_exist_is_wrong_usage() {
    let run = tool(&["fly"]).run();
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("unrecognized subcommand"), "{run:?}");
}
