//! Encoding version 1, which Redis 8.12 writes: read from files, dumps and streams, and written if
//! the server is set to.

use crate::module::server;
use splitbloom_harness::samples::payload;
use splitbloom_harness::{server_with_log, Connection, Options, Primary, Random, Server};
use splitbloom_oracles::count_min::Plain;
use splitbloom_test_dump::Dump;
use std::fs;

const SIZES: [u64; 4] = [1, 2, 4, 8];

fn key(size: u64) -> String {
    format!("cells:{size}")
}

/// The setting that makes a server write this version.
pub fn written(version: u32) -> String {
    format!("{} {version}", server().dialect().spelled("cms.encoding"))
}

fn server_that_writes(version: u32) -> Server {
    Server::with_sketches(&[&written(version), "rdbcompression no"])
}

/// A sketch for each size of cells, as RedisBloom would have it.
fn sketches() -> [Plain; 4] {
    SIZES.map(|size| {
        let mut random = Random::seeded(size);
        let mut sketch = Plain::new(300, 4, size);
        for _ in 0..2_000 {
            let item = random.below(200).to_string();
            let by = (random.number() >> random.below(64)) as i64 / 4;
            // What does not fit is not counted.
            let _ = sketch.increment(item.as_bytes(), by);
        }
        sketch
    })
}

fn assert_are_there(db: &mut Connection, sketches: &[Plain]) {
    for sketch in sketches {
        let Plain { width, depth, size, count, .. } = sketch;
        let info = db.ask(&format!("CMS.INFO {}", key(*size)));
        let shape = format!("+width, :{width}, +depth, :{depth}");
        assert_eq!(info, format!("[{shape}, +count, :{count}, +cell_size, :{size}]"));
        for item in (0..250).map(|item| item.to_string()) {
            let estimate = db.ask(&format!("CMS.QUERY {} {item}", key(*size)));
            assert_eq!(estimate, format!("[:{}]", sketch.estimate(item.as_bytes())), "{size}");
        }
    }
}

fn restore(db: &mut Connection, sketch: &Plain) {
    let (key, payload) = (key(sketch.size), payload(db, &sketch.dump()));
    assert_eq!(db.restore(&key, &payload), "+OK");
}

/// A file of the sketches, as RedisBloom would save it.
fn file(sketches: &[Plain]) -> Vec<u8> {
    let mut file = b"REDIS0009\xfe\0".to_vec();
    for sketch in sketches {
        let (name, dump) = (key(sketch.size), sketch.dump());
        file.push(dump[0]);
        file.push(name.len() as u8);
        file.extend(name.bytes());
        file.extend(&dump[1..]);
    }
    file.push(0xff);
    file.extend([0; 8]); // no checksum
    file
}

#[test]
fn dumps_of_8_12_are_read_and_written_as_the_server_is_set() {
    let sketches = sketches();
    for version in [0, 1] {
        let (_server, mut db) = server_that_writes(version).with_client();
        for sketch in &sketches {
            restore(&mut db, sketch);
            let dump = Dump::parse(&db.dump(&key(sketch.size)));
            assert_eq!(dump.version, version);
            let (written, described) = (dump.fields, sketch.fields());
            match (version, sketch.size) {
                (1, _) => assert_eq!(written, described),
                // The size is left out.
                (_, 4) => assert_eq!(written, [&described[..3], &described[4..]].concat()),
                _ => assert_eq!(written[1..], described, "after a 0"),
            }
        }
        assert_are_there(&mut db, &sketches);
        let digest = db.digest_of_everything();
        db.run("DEBUG RELOAD");
        assert_eq!(db.digest_of_everything(), digest);
    }
}

#[test]
fn files_and_streams_of_8_12_are_read() {
    let sketches = sketches();
    let file = file(&sketches);
    let replica = server();
    let mut primary = Primary::with_replica(&replica, &file);
    let mut lines = vec!["SELECT 0".to_owned()];
    let mut followed = sketches.clone();
    for sketch in &mut followed {
        for by in [100, -50, 1 << 40, -(1 << 40)] {
            let _ = sketch.increment(b"3", by);
            // Counters of 4 bytes would stop at their end, as before 8.12.
            if sketch.size != 4 || by.abs() < 1 << 32 {
                lines.push(format!("CMS.INCRBY {} 3 {by}", key(sketch.size)));
            }
        }
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    primary.send_all(&replica, &lines);
    assert_are_there(&mut replica.connect(), &followed);

    let mut from_file = server();
    from_file.kill();
    fs::write(from_file.folder().join("dump.rdb"), &file).expect("a file");
    from_file.start_again();
    assert_are_there(&mut from_file.connect(), &sketches);

    let options = Options { with_sketches: true, ..Options::default() };
    let from_log = server_with_log(options, &file);
    assert_are_there(&mut from_log.connect(), &sketches);
}

#[test]
fn the_encoding_is_set_before_the_server_starts() {
    let (_server, mut db) = server_that_writes(1).with_client();
    let config = db.run("CONFIG GET *cms*encoding").elements().to_vec();
    let name = config[0].text();
    assert_eq!(config[1].to_string(), "$1");
    let refused = db.ask(&format!("CONFIG SET {name} 0"));
    assert!(refused.contains("can't set immutable config"), "{refused}");
}

#[test]
fn later_versions_are_refused() {
    let (server, mut db) = server().with_client();
    let sketch = &sketches()[0];
    let mut dump = sketch.dump();
    dump[9] = 2;
    let payload = payload(&mut db, &dump);
    assert_eq!(db.restore("k", &payload), "-ERR Bad data format");
    assert!(server.log().contains("This module reads versions up to 1"), "{}", server.log());
}
