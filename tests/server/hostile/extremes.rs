//! Numbers and sizes at the limits of what is legal, and beyond.

use splitbloom_harness::{
    add_items, eventually, layers, load_chunks, missing_items, scan_dump, Server,
};

#[test]
fn filters_of_any_size_and_error_rate_work() {
    let (_server, mut db) = Server::start().with_client();
    let baseline = db.bytes_held();
    for rate in ["0.999999", "0.5", "0.01", "0.000000001", "1e-300", "5e-324"] {
        for capacity in ["1", "1000000", "1000000000", "1099511627776"] {
            for options in ["", "NONSCALING", "EXPANSION 32768"] {
                let command = format!("BF.RESERVE k {rate} {capacity} {options}");
                assert_eq!(db.ask(&command), "+OK", "{command}");
                assert_eq!(db.ask("BF.ADD k a"), ":1", "{command}");
                assert_eq!(db.ask("BF.EXISTS k a"), ":1", "{command}");
                db.run("BF.INFO k FULL");
                db.run("BF.SCANDUMP k 0");
                db.run("UNLINK k");
            }
        }
    }
    eventually("all memory is returned", || db.bytes_held() == baseline);
}

#[test]
fn thousands_of_layers_from_redisbloom_load_and_work_and_grow_by_a_table() {
    const LEN: u32 = 6_000;
    let (_server, mut db) = Server::start().with_client();
    load_chunks(&mut db, "k", &layers(LEN));
    assert_eq!(db.ask("BF.INFO k FILTERS"), format!("[:{LEN}]"));
    assert_eq!(db.ask("BF.INFO k ITEMS"), format!("[:{}]", 6 * LEN));
    let full = db.run("BF.INFO k FULL");
    assert_eq!(full.field("Sub-filters from RedisBloom").elements().len(), 1000);
    let left_out = i64::from(LEN) - 1000;
    assert_eq!(full.field("Older sub-filters left out").integer(), left_out);
    let lines = db.run("BF.DEBUG k");
    let [_, line, shown @ ..] = lines.elements() else { panic!("{lines}") };
    assert_eq!(line.text(), format!("older sub-filters left out:{left_out}"));
    assert_eq!(shown.len(), 1000);
    let digest = db.digest("k");
    db.run("DEBUG RELOAD");
    assert_eq!(db.digest("k"), digest);
    let chunks = scan_dump(&mut db, "k");
    load_chunks(&mut db, "l", &chunks);
    assert_eq!(db.digest("l"), digest);
    add_items(&mut db, "k", 0..2 * u64::from(LEN));
    assert_eq!(db.ask("BF.INFO k FILTERS"), format!("[:{}]", LEN + 1));
    assert_eq!(missing_items(&mut db, "k", 0..2 * u64::from(LEN)), 0);
}

#[test]
fn text_that_looks_like_a_format_string_is_harmless() {
    let (_server, mut db) = Server::configured(&["loglevel debug"]).with_client();
    for text in ["%s%n%s%n", "%d", "%%", "{}", "{0}"] {
        for command in [
            "BF.ADD ? ?",
            "BF.INFO ? ?",
            "BF.RESERVE ? ? ?",
            "BF.LOADCHUNK ? 1 ?",
            "BF.SCANDUMP ? ?",
        ] {
            db.line(&command.replace('?', text));
        }
        db.line(&format!("CONFIG SET bf.error-rate {text}"));
    }
}
