//! Filters that `splitbloom-filter` builds in this process, loaded into a server.

use splitbloom_filter::codec::chunks;
use splitbloom_filter::{Filter, Growth, Parameters, Seed, SizeLimit};
use splitbloom_harness::{add_items, item, missing_items, Server};

#[test]
fn a_filter_built_in_process_equals_the_one_that_a_server_built() {
    const ITEMS: u64 = 30_000;
    let server = Server::start();
    let mut db = server.connect();
    // The second grows, and takes several chunks.
    for (capacity, growth, words) in [
        (ITEMS, Growth::Fixed, "NONSCALING"),
        (1_000, Growth::Times(2), "EXPANSION 2"),
        (3_000_000, Growth::Times(4), "EXPANSION 4"),
    ] {
        let parameters = Parameters { error_rate: 0.01, capacity, growth, seed: Seed(0xFEED) };
        let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
        let items: Vec<Vec<u8>> = (0..ITEMS).map(item).collect();
        let items = items.iter().map(Vec::as_slice);
        filter.add_many(items, SizeLimit::Unlimited, |_| ()).unwrap();

        db.run("FLUSHALL");
        for chunk in chunks(&filter) {
            let chunk = chunk.encode().unwrap();
            let iterator = chunk.next.to_string().into_bytes();
            let command = [b"BF.LOADCHUNK".to_vec(), b"ours".to_vec(), iterator];
            let reply = db.call(command.into_iter().chain([chunk.bytes]));
            assert_eq!(reply.to_string(), "+OK");
        }
        let reserve = format!("BF.RESERVE theirs 0.01 {capacity} {words} SEED 000000000000feed");
        assert_eq!(db.ask(&reserve), "+OK");
        add_items(&mut db, "theirs", 0..ITEMS);
        assert_eq!(db.digest("ours"), db.digest("theirs"), "{words}");
        assert_eq!(missing_items(&mut db, "ours", 0..ITEMS), 0);
        assert_eq!(db.ask("BF.CARD ours"), format!(":{}", filter.items()));
    }
}
