//! What the server knows about the commands.

use crate::module::server;

#[test]
fn commands_have_redisblooms_flags_and_keys() {
    let server = server();
    let mut db = server.connect();
    for (command, flags) in [
        ("cms.initbydim", "write"),
        ("cms.initbyprob", "write"),
        ("cms.incrby", "write"),
        ("cms.merge", "write"),
        ("cms.query", "readonly"),
        ("cms.info", "readonly"),
    ] {
        let info = db.run(&format!("COMMAND INFO {command}")).to_string();
        assert!(info.contains(flags) && info.contains("module"), "{info}");
        assert_eq!(info.contains("denyoom"), flags == "write", "{info}");
    }
    db.converse(&[
        ("COMMAND GETKEYS CMS.MERGE sum 2 a b WEIGHTS 1 2", "[$sum, $a, $b]"),
        ("COMMAND GETKEYS CMS.INCRBY k a 1", "[$k]"),
    ]);
    let docs = db.run("COMMAND DOCS cms.incrby").to_string();
    assert!(docs.contains("increment") && docs.contains("block"), "{docs}");
}

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
