//! What the module reports about its machine.

use splitbloom_harness::{Connection, Options, Server};
use std::fs;

#[test]
fn the_log_and_info_name_version_server_and_what_the_processor_can_run() {
    let (server, mut db) = Server::start().with_client();
    let (kernel, table_kernel) = expected_kernels(&mut db);
    assert_eq!(db.info("bf", "bf_kernel"), kernel);
    assert_eq!(db.info("bf", "bf_table_kernel"), table_kernel);
    let info = db.run("INFO server").text();
    let version = |field: &str| info.lines().find_map(|line| line.strip_prefix(field));
    let on = match (version("valkey_version:"), version("redis_version:")) {
        (Some(valkey), _) => format!("Valkey {valkey}"),
        (None, redis) => format!("Redis {}", redis.expect("a version")),
    };
    let module = db.info("bf", "bf_version");
    let line = format!(
        "<bf> splitbloom {module} on {on}, kernel: {kernel}, tables: {table_kernel}, settings: "
    );
    let log = server.log();
    assert_eq!(log.matches(&line).count(), 1, "{line}{log}");
}

#[test]
fn the_log_has_the_settings_of_the_start_by_names_that_config_get_knows() {
    let (server, mut db) = Server::with(Options {
        module_arguments: "INITIAL_SIZE 777".to_owned(),
        ..Options::settings(&["bf.error-rate 0.25", "bf.max-filter-bytes 1gb"])
    })
    .with_client();
    let log = server.log();
    let line = log.lines().find(|line| line.contains("<bf> splitbloom "));
    let (_, settings) = line.and_then(|line| line.split_once("settings: ")).expect("a line");
    let settings: Vec<(&str, &str)> =
        settings.split(", ").filter_map(|setting| setting.split_once(' ')).collect();
    assert!(settings.len() >= 8, "{settings:?}");
    for (name, value) in &settings {
        let got = db.ask(&format!("CONFIG GET {name}"));
        assert_eq!(got, format!("[${name}, ${value}]"));
    }
    for changed in [
        ("bf.error-rate", "0.25"),
        ("bf.initial-size", "777"),
        ("bf.max-filter-bytes", "1073741824"),
    ] {
        assert!(settings.contains(&changed), "{changed:?} in {settings:?}");
    }
}

/// The kernels that fit the processor, for sub-bitmaps and for tables, according to the system
/// rather than the module. A server for another architecture runs in an emulator and reports its
/// architecture.
fn expected_kernels(db: &mut Connection) -> (&'static str, &'static str) {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    let is_x86_64 = db.info("server", "os").ends_with(" x86_64");
    let has_all = |flags: &[&str]| is_x86_64 && flags.iter().all(|flag| has(flag));
    let kernel = match has_all(&["avx512f", "avx512dq", "avx512_vpopcntdq"]) {
        true => "AVX-512",
        false => "portable",
    };
    let is_quick = has("vpclmulqdq") || has("avx512f");
    let has_bmi2 = has_all(&["bmi1", "bmi2", "popcnt", "avx2"]) && is_quick;
    let table_kernel = match has_bmi2 {
        true => "BMI2",
        false => "portable",
    };
    (kernel, table_kernel)
}
