//! `splitbloom info`.

use crate::harness::Server;
use crate::tool::{tool_on, Runs};

#[test]
fn info_describes_a_filter_of_either_kind() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE users 0.001 20000");
    db.run("BF.MADD users a b c");
    db.run("CF.ADD bag a");
    let text = tool_on(&server, &["info", "users"]).prints();
    for line in [
        "Capacity                      20 000",
        "  Hashes            10",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
    let json = tool_on(&server, &["info", "bag", "--json"]).prints();
    assert!(json.contains("\"Number of items inserted\": 1,"), "{json}");
}
