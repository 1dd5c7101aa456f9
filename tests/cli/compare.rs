//! `splitbloom compare`.

use crate::tool::{tool, url, Folder, Runs};
use splitbloom_harness::Server;

#[test]
fn servers_are_compared_item_by_item() {
    let (old, new, work) = (Server::start(), Server::start(), Folder::new());
    let items: String = (0..20_000).map(|number| format!("{number}\n")).collect();
    let file = work.file("items", items.as_bytes());
    let compare = |key: &str, words: &[&str]| {
        tool(&[&["compare", &url(&old), &url(&new), key, &file], words].concat())
    };
    let mut both = [old.connect(), new.connect()];
    for db in &mut both {
        db.run("BF.RESERVE seen 0.000000001 30000");
        let words = ["BF.PACKADD", "seen", "LINES", &items];
        assert_eq!(db.call(words).to_string(), ":20000");
    }
    let text = compare("seen", &[]).prints();
    let all = "first: 20000 present, 0 of them only there\n";
    assert_eq!(text, format!("20000 items\n{all}{}", all.replace("first", "second")));

    let [old_db, new_db] = &mut both;
    for (db, item) in [(old_db, "old"), (new_db, "new")] {
        db.run(&format!("BF.ADD seen {item}"));
    }
    work.file("items", format!("{items}new\nold\nnone\n").as_bytes());
    let tail = "20003 items\n\
                first: 20001 present, 1 of them only there\n\
                second: 20001 present, 1 of them only there\n";
    let run = compare("seen", &[]).run();
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    assert_eq!(run.stdout, format!("> new\n< old\n{tail}"));
    let run = compare("seen", &["--count", "--connections", "1"]).run();
    run.ends(1, tail);

    let [old_db, _] = &mut both;
    old_db.run("CF.ADD bag 7");
    let message = compare("bag", &[]).error(6);
    let server = format!("127.0.0.1:{}: there is no such key: bag", new.port());
    assert_eq!(message, server);
}

/// RedisBloom has no packed commands. A server whose users may not call them stands in for it.
#[test]
fn a_server_without_packed_commands_is_asked_with_an_argument_for_each_item() {
    let (old, new, work) = (Server::start(), Server::start(), Folder::new());
    let items: String = (0..5000).map(|number| format!("{number}\n")).collect();
    let file = work.file("items", items.as_bytes());
    for (server, family) in [(&old, "BF"), (&new, "BF"), (&old, "CF"), (&new, "CF")] {
        let words = [&format!("{family}.PACKADD"), family, "LINES", &items];
        server.connect().call(words);
    }
    old.connect().run("ACL SETUSER default -command -bf.packexists -cf.packexists");
    for key in ["BF", "CF"] {
        let text = tool(&["compare", &url(&old), &url(&new), key, &file, "--count"]).run().stdout;
        assert!(text.contains("first: 5000 present"), "{text}");
        let mut check = tool(&["check", key, &file, "--count", "--url", &url(&old)]);
        assert_eq!(check.prints(), "5000\n");
    }
    let text = old.connect().run("INFO commandstats").text().to_lowercase();
    for family in ["bf", "cf"] {
        assert!(text.contains(&format!("cmdstat_{family}.mexists:calls=2,")), "{text}");
    }
}
