//! What the server logs when it loads the module, and when it does not.

use splitbloom_harness::{compile, module_path, Folder, Options, Server};
use std::path::PathBuf;

const ADVICE: &str = "Another module with the BF commands is loaded already";

/// The module in `rival.c`, compiled into a folder of its own.
fn rival() -> (Folder, PathBuf) {
    let folder = Folder::fresh();
    let module = folder.path().join("rival.so");
    compile("tests/server/rival.c", &module);
    (folder, module)
}

#[test]
fn a_module_whose_name_command_or_type_is_taken_says_which() {
    let (_folder, rival) = rival();
    for (module, argument, line, taken) in [
        (&module_path(), "", "", "the module name bf is taken."),
        (&rival, "name", "", "the module name bf is taken."),
        (&rival, "command", "", "the command bf.madd is taken by the module rival."),
        // A server that does not say which module has the command.
        (&rival, "command", "rename-command COMMAND \"\"", "the command bf.madd is taken."),
        (&rival, "type", "", "the type MBbloom-- is taken."),
    ] {
        let log = Server::refusal(Options {
            module: Some(module.clone()),
            module_arguments: argument.to_owned(),
            ..Options::settings(&[line, &format!("loadmodule {}", module_path().display())])
        });
        let words = format!("splitbloom was not loaded: {taken}");
        assert!(log.contains(&words) && log.contains(ADVICE), "{argument}: {log}");
    }
    // If the module comes later, the server itself logs only that it was not loaded.
    let line = format!("loadmodule {} command", rival.display());
    let log = Server::refusal(Options::settings(&[&line]));
    assert!(log.contains("a module that has them, too (RedisBloom, valkey-bloom)"), "{log}");
}

#[test]
fn a_module_that_was_not_loaded_leaves_nothing_behind() {
    let (_folder, rival) = rival();
    let (_server, mut db) = Server::with(Options {
        without_module: true,
        ..Options::settings(&[&format!("loadmodule {} command", rival.display())])
    })
    .with_client();
    let load = format!("MODULE LOAD {}", module_path().display());
    for _ in 0..2 {
        assert!(db.ask(&load).starts_with("-ERR "));
        assert_eq!(db.ask("CONFIG GET bf.*"), "[]");
        assert!(db.ask("BF.RESERVE k 0.01 100").starts_with("-ERR unknown command"));
        assert!(!db.ask("MODULE LIST").contains("$bf"));
    }
}

#[test]
fn commands_that_the_configuration_renames_do_not_keep_the_module_from_being_loaded() {
    let server =
        Server::configured(&["rename-command COMMAND \"\"", "rename-command MODULE elsewhere"]);
    server.connect().converse(&[
        ("BF.ADD k a", ":1"),
        ("CF.ADD l a", ":1"),
        ("COMMAND COUNT", "-ERR unknown command 'COMMAND', with args beginning with: 'COUNT' "),
    ]);
}

#[test]
fn what_kept_the_module_from_being_loaded_is_in_the_log_of_every_server() {
    let arguments =
        |words: &str| Options { module_arguments: words.to_owned(), ..Options::default() };
    let missing =
        Options { module: Some(PathBuf::from("/nowhere/libsplitbloom.so")), ..Options::default() };
    for (options, words) in [
        (
            arguments("ERROR_RATE 2"),
            [
                "splitbloom was not loaded",
                "ERROR_RATE must be a number above 0 and below 1, not \"2\"",
            ],
        ),
        (
            Options::settings(&["bf.error-rate 7"]),
            [
                "bf.error-rate : the error rate must be above 0 and below 1",
                "splitbloom was not loaded: a value in the configuration file is refused",
            ],
        ),
        // The server itself reports these two, without asking the module.
        (Options::settings(&["bf.nonsense 7"]), ["Module Configuration detected", ""]),
        (missing, ["/nowhere/libsplitbloom.so failed to load", "No such file"]),
    ] {
        let log = Server::refusal(options);
        for words in words {
            assert!(log.contains(words), "{words} in {log}");
        }
    }
}

#[test]
fn loading_the_module_logs_no_warning() {
    let log = Server::start().log();
    let of_ours = |line: &&str| line.contains("<bf>") || line.contains("<module>");
    let warnings: Vec<&str> =
        log.lines().filter(of_ours).filter(|line| line.contains(" # ")).collect();
    assert!(warnings.is_empty(), "{warnings:?}");
}
