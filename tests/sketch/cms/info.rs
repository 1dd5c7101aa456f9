//! What the server knows about the commands.

use crate::module::server;

#[test]
fn changes_are_signalled_and_lookups_are_not() {
    let server = server();
    let mut db = server.connect();
    let mut events = server.connect();
    db.run("CONFIG SET notify-keyspace-events KEA");
    events.run("PSUBSCRIBE __keyevent@0__:cms*");
    for line in [
        "CMS.INITBYDIM k 5 2",
        "CMS.QUERY k a",
        "CMS.INCRBY k a 1",
        "CMS.INFO k",
        "CMS.MERGE k 1 k",
    ] {
        db.run(line);
    }
    for event in ["cms.init", "cms.incrby", "cms.merge"] {
        let received = events.receive().to_string();
        assert!(received.contains(&format!("__keyevent@0__:{event},")), "{received}");
    }
    let mut watching = server.connect();
    watching.run("WATCH k");
    db.run("CMS.QUERY k a");
    watching.converse(&[("MULTI", "+OK"), ("CMS.INCRBY k a 1", "+QUEUED"), ("EXEC", "[[:2]]")]);
}
