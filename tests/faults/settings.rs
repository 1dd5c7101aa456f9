//! A setting of the server that only newer ones have. The module reads another in its place, which
//! the setting `bf.inject-server-setting` names.

use crate::server_with_failpoints;
use splitbloom_harness::{Connection, Dialect, Server};

/// From then on modules can read the server's settings; seen on 8.6.
const READABLE: Dialect = Dialect::Redis { major: 8, minor: 6 };

const INJECTED: &str = "bf.inject-server-setting slowlog-max-len";

fn lets_modules_read(server: &Server) -> bool {
    matches!(server.dialect(), Dialect::Redis { .. }) && server.dialect() >= READABLE
}

fn kept_bytes(db: &mut Connection) -> String {
    db.info("bf", "bf_slow_log_argument_bytes")
}

#[test]
fn a_slow_log_that_keeps_more_than_the_filler_hides_is_in_info_and_in_the_log_at_start() {
    for (bytes, is_warned_of) in [("1000", true), ("129", true), ("128", false), ("1", false)] {
        let length = format!("slowlog-max-len {bytes}");
        let (server, mut db) = server_with_failpoints(&[INJECTED, &length]).with_client();
        let is_readable = lets_modules_read(&server);
        let kept = if is_readable { bytes } else { "128" };
        assert_eq!(kept_bytes(&mut db), kept);
        let warning = format!("slowlog-entry-max-string-len is {bytes}: the slow log shows seeds");
        let log = server.log();
        assert_eq!(log.contains(&warning), is_readable && is_warned_of, "{log}");

        db.run("CONFIG SET slowlog-max-len 4096");
        let kept = if is_readable { "4096" } else { "128" };
        assert_eq!(kept_bytes(&mut db), kept);
    }
}

#[test]
fn a_server_without_the_setting_keeps_what_the_filler_hides() {
    let server = server_with_failpoints(&["bf.inject-server-setting no-such-setting"]);
    assert_eq!(kept_bytes(&mut server.connect()), "128");
    assert!(!server.log().contains("shows seeds"));
}
