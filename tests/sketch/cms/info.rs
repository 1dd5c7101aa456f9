//! What the server knows about the commands.

use crate::module::server;

#[test]
fn changes_are_signalled_and_lookups_are_not() {
    let (server, mut db) = server().with_client();
    let mut events = server.connect();
    db.run("CONFIG SET notify-keyspace-events KEA");
    events.run("PSUBSCRIBE __keyevent@0__:cms*");
    db.run_all(["CMS.INITBYDIM k 5 2", "CMS.QUERY k a", "CMS.INCRBY k a 1", "CMS.INFO k"]);
    db.run("CMS.MERGE k 1 k");
    for event in ["cms.init", "cms.incrby", "cms.merge"] {
        let received = events.receive().to_string();
        assert!(received.contains(&format!("__keyevent@0__:{event},")), "{received}");
    }
    let mut watching = server.connect();
    watching.run("WATCH k");
    db.run("CMS.QUERY k a");
    watching.converse(&[("MULTI", "+OK"), ("CMS.INCRBY k a 1", "+QUEUED"), ("EXEC", "[[:2]]")]);
}
