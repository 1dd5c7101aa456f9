//! `splitbloom info`.

use crate::tool::{tool, tool_on, url, Folder, Runs};
use splitbloom_harness::samples::OF_VALKEY_BLOOM;
use splitbloom_harness::Server;

/// The type of such a filter has another name.
#[test]
fn a_filter_from_valkey_bloom_is_one_to_every_command() {
    let (server, other, work) = (Server::start(), Server::start(), Folder::new());
    let came = OF_VALKEY_BLOOM[0].under("came");
    for server in [&server, &other] {
        came.restore(&mut server.connect());
    }
    let items: String = (0..300).map(|number| format!("item:{number}\n")).collect();
    let (file, pulled) = (work.file("items", items.as_bytes()), work.path("came.sbf"));
    let info = tool_on(&server, &["info", "came"]).prints();
    let mut lines = info.lines();
    let items = lines.find(|line| line.starts_with("Number of items inserted"));
    assert!(items.is_some_and(|line| line.ends_with(" 299")), "{info}");
    assert_eq!(tool_on(&server, &["check", "came", &file, "--count"]).prints(), "300\n");
    assert_eq!(tool_on(&server, &["load", "came", &file]).prints(), "300 items, 0 new\n");
    let both = ["compare", &url(&server), &url(&other), "came", &file];
    assert!(tool(&both).prints().starts_with("300 items\n"));
    tool_on(&server, &["pull", "came", "-o", &pulled]).prints();
    let of_file = tool(&["info", &pulled]).prints();
    assert!(of_file.contains("Bloom, from valkey-bloom\n"), "{of_file}");
    tool_on(&server, &["push", &pulled, "back"]).prints();
    let to = url(&other);
    tool_on(&server, &["pull", "came", "--to", &to, "--as", "back"]).prints();
    for server in [&server, &other] {
        let digest = server.connect().digest("came");
        assert_eq!(server.connect().digest("back"), digest);
    }
}
