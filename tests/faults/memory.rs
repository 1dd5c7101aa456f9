//! The server's own limit, `maxmemory`, with and without eviction; and the return of memory.

use crate::harness::{eventually, load_chunks, scan_dump, Family, Server};

#[test]
fn without_eviction_a_full_server_refuses_every_write_and_answers_every_read() {
    let server = Server::configured(&["maxmemory-policy noeviction"]);
    let mut db = server.connect();
    db.run("BF.RESERVE donor 0.01 100");
    db.run("BF.ADD donor a");
    let chunks = scan_dump(&mut db, "donor");
    let used = db.info_number("memory", "used_memory");
    db.run(&format!("CONFIG SET maxmemory {}", used + (4 << 20)));
    db.run("BF.RESERVE k 0.01 100");
    db.run("CF.RESERVE counting 100");
    // A hundred items at a time: a command is refused as a whole.
    let mut added = 0;
    while ["BF.MADD k", "CF.INSERT counting ITEMS"].iter().all(|add| {
        let head = add.split(' ').map(|word| word.as_bytes().to_vec());
        let items = (added..added + 100).map(|n| format!("item:{n}").into_bytes());
        !db.call(head.chain(items)).is_error()
    }) {
        added += 100;
    }
    let digest = db.digest_of_everything();
    for write in [
        "BF.RESERVE new 0.01 100",
        "BF.ADD k more",
        "BF.ADD k item:0",
        "BF.MADD k more",
        "BF.INSERT k ITEMS more",
        "BF.PACKADD k LINES more",
        "BF.MERGE new 1 k",
        "BF.INSERT new ITEMS more",
        "BF.LOADCHUNK new 1 a",
        "COPY k new",
        "CF.RESERVE new 100",
        "CF.ADD counting more",
        "CF.ADDNX counting item:0",
        "CF.INSERT counting ITEMS more",
        "CF.PACKADD counting LINES more",
        "CF.INSERTNX new ITEMS more",
        "CF.LOADCHUNK new 1 a",
        "COPY counting new",
    ] {
        assert!(db.ask(write).starts_with("-OOM "), "{write}");
    }
    let (iterator, bytes) = &chunks[0];
    let load = [
        b"BF.LOADCHUNK".to_vec(),
        b"new".to_vec(),
        iterator.to_string().into_bytes(),
        bytes.clone(),
    ];
    assert!(db.call(load).to_string().starts_with("-OOM "));
    assert_eq!(db.digest_of_everything(), digest);

    for (family, key) in [(Family::Bloom, "k"), (Family::Counting, "counting")] {
        assert_eq!(family.missing_items(&mut db, key, 0..added), 0, "{key}");
    }
    for read in [
        "BF.EXISTS k item:0",
        "BF.CARD k",
        "BF.INFO k FULL",
        "BF.SCANDUMP k 0",
        "DUMP k",
        "CF.EXISTS counting item:0",
        "CF.COUNT counting item:0",
        "CF.INFO counting FULL",
        "CF.SCANDUMP counting 0",
        "DUMP counting",
        // It gives memory back.
        "CF.DEL counting item:0",
    ] {
        assert!(!db.line(read).is_error(), "{read}");
    }
    db.run("UNLINK k");
    eventually("writes work again", || !db.line("BF.ADD new a").is_error());
    load_chunks(&mut db, "loaded", &chunks);
}

#[test]
fn an_evicted_filter_is_deleted_on_the_replica_too() {
    /// Some 125 KiB of a Bloom filter, some 40 of a counting one. More items would need more memory
    /// for the pipeline of commands than the server is given here.
    fn items(number: u64) -> u64 {
        match Family::by_turns(number) {
            Family::Bloom => 1000,
            Family::Counting => 20_000,
        }
    }
    let primary = Server::configured(&["maxmemory-policy allkeys-lru"]);
    let replica = primary.replica(&[]);
    let mut db = primary.connect();
    let used = db.info_number("memory", "used_memory");
    db.run(&format!("CONFIG SET maxmemory {}", used + (16 << 20)));
    for number in 0..300 {
        let key = format!("k{number}");
        match Family::by_turns(number) {
            Family::Bloom => db.run(&format!("BF.RESERVE {key} 0.01 100000")),
            Family::Counting => db.run(&format!("CF.RESERVE {key} 100")),
        };
        Family::by_turns(number).add_items(&mut db, &key, 0..items(number));
    }
    assert!(db.info_number("stats", "evicted_keys") > 10);
    db.run("CONFIG SET maxmemory 0");
    primary.wait_for(&replica);
    let mut there = replica.connect();
    assert_eq!(db.digest_of_everything(), there.digest_of_everything());
    assert_eq!(
        db.info_number("bf", "bf_filters"),
        there.info_number("bf", "bf_filters")
    );
    for number in 0..300 {
        let key = format!("k{number}");
        let missing = Family::by_turns(number).missing_items(&mut db, &key, 0..items(number));
        let expected = if db.ask(&format!("EXISTS {key}")) == ":1" {
            0
        } else {
            items(number)
        };
        assert_eq!(missing, expected, "{key} is present in full or not at all");
    }
}

#[test]
fn lazy_deletions_free_large_filters_on_the_servers_background_thread() {
    // Several times what the server frees in the foreground: 64 segments of 64 KiB, or 64 pages.
    const FILTERS: [(Family, &str, u64); 3] = [
        (Family::Bloom, "BF.RESERVE k 0.01 30000000", 20_000),
        (Family::Bloom, "BF.RESERVE k 0.01 100", 400_000),
        (Family::Counting, "CF.RESERVE k 100", 400_000),
    ];
    let server = Server::configured(&[
        "lazyfree-lazy-expire yes",
        "lazyfree-lazy-eviction yes",
        "lazyfree-lazy-server-del yes",
    ]);
    let mut db = server.connect();
    let baseline = db.info_number("bf", "bf_bytes_held");
    for ((family, creation, items), deletion) in FILTERS.into_iter().flat_map(|filter| {
        let deletions = [
            "UNLINK k",
            "PEXPIRE k 1",
            "RENAME small k",
            "FLUSHALL ASYNC",
        ];
        deletions.map(|deletion| (filter, deletion))
    }) {
        db.run("BF.ADD small a");
        db.run(creation);
        family.add_items(&mut db, "k", 0..items);
        let before = db.info_number("memory", "lazyfreed_objects")
            + db.info_number("memory", "lazyfree_pending_objects");
        db.run(deletion);
        eventually(deletion, || {
            let pending = db.info_number("memory", "lazyfree_pending_objects");
            pending == 0 && db.info_number("memory", "lazyfreed_objects") > before
        });
        db.run("FLUSHALL");
        eventually("all memory is returned", || {
            db.info_number("bf", "bf_bytes_held") == baseline
        });
    }
}
