//! The report of a server that crashes.

use splitbloom_harness::Server;

#[test]
fn a_crash_report_has_the_modules_counters_and_nothing_that_it_asks_the_server_for() {
    let (mut server, mut db) = Server::configured(&["crash-memcheck-enabled no"]).with_client();
    assert_eq!(db.info("bf", "bf_slow_log_argument_bytes"), "128");
    // The server closes the connection.
    let _ = db.try_call(["DEBUG", "SEGFAULT"]);
    server.wait_for_exit();
    let log = server.log();
    assert!(log.contains("bf_filters:0"), "{log}");
    assert!(!log.contains("bf_slow_log_argument_bytes"), "{log}");
}
