//! What the module reports about its machine.

use crate::harness::{Connection, Server};
use std::fs;

#[test]
fn the_log_and_info_name_the_kernel_that_the_processor_can_run() {
    let server = Server::start();
    let mut db = server.connect();
    let kernel = expected_kernel(&mut db);
    assert_eq!(db.info("bf", "bf_kernel"), kernel);
    let info = db.run("INFO server").text();
    let version = |field: &str| info.lines().find_map(|line| line.strip_prefix(field));
    let on = match (version("valkey_version:"), version("redis_version:")) {
        (Some(valkey), _) => format!("Valkey {valkey}"),
        (None, redis) => format!("Redis {}", redis.expect("a version")),
    };
    let module = db.info("bf", "bf_version");
    let line = format!("<bf> splitbloom {module} on {on}, kernel: {kernel}\n");
    let log = server.log();
    assert_eq!(log.matches(&line).count(), 1, "{line}{log}");
}

/// The kernel that fits the processor, according to the system rather than the module. A server for
/// another architecture runs in an emulator and reports its architecture.
fn expected_kernel(db: &mut Connection) -> &'static str {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |flag| flags.split_whitespace().any(|word| word == flag);
    let is_x86_64 = db.info("server", "os").ends_with(" x86_64");
    let has_all = ["avx512f", "avx512dq", "avx512_vpopcntdq"]
        .into_iter()
        .all(has);
    match is_x86_64 && has_all {
        true => "AVX-512",
        false => "portable",
    }
}
