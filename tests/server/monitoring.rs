//! What packaging/monitoring shows of a server: the script for redis_exporter, run by the exporter
//! itself too, and that alerts and dashboard ask for nothing that is not shown.

use splitbloom_harness::samples::OF_VALKEY_BLOOM;
use splitbloom_harness::{eventually, in_repository, patient, Connection, Server};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Releases of Debian whose exporter is tried: the oldest that one is likely to meet, and a newer.
const SUITES: [&str; 2] = ["bookworm", "trixie"];

fn monitoring(file: &str) -> PathBuf {
    in_repository("packaging/monitoring").join(file)
}

/// The command that creates the exporter's user, of docs/production.md.
fn user() -> String {
    let document = fs::read_to_string(in_repository("docs/production.md")).expect("a document");
    let line = document.lines().find(|line| line.starts_with("user monitor "));
    format!("ACL SETUSER{}", line.expect("the user").trim_start_matches("user"))
}

/// What the script returns: names and values.
fn values(db: &mut Connection) -> BTreeMap<String, f64> {
    let script = fs::read_to_string(monitoring("splitbloom.lua")).expect("the script");
    let reply = db.call(["EVAL", &script, "0"]);
    let texts: Vec<String> = reply.elements().iter().map(|word| word.text()).collect();
    let pairs = texts.chunks(2).map(|pair| {
        let value = pair[1].parse().expect("a number");
        (pair[0].clone(), value)
    });
    pairs.collect()
}

/// A server with both modules, whose filters show everything that can be shown.
fn watched_server() -> Server {
    let (server, mut db) = Server::with_sketches(&[]).with_client();
    db.run("BF.RESERVE fixed 0.01 4 NONSCALING SEED 0123456789abcdef");
    db.run("BF.MADD fixed a b c");
    db.run("BF.ADD growing a");
    db.run("CF.RESERVE counting 10 EXPANSION 0");
    db.run("CF.INSERT counting ITEMS a b");
    db.run("BF.ADD unwatched a");
    OF_VALKEY_BLOOM[0].under("came").restore(&mut db);
    db.run("SET text a");
    db.run("SADD splitbloom:watched fixed growing counting came text missing");
    db.run("BF.MEXISTS fixed a b z");
    server
}

#[test]
fn the_script_shows_every_number_of_info_and_the_filters_that_are_watched() {
    let (_server, mut db) = watched_server().with_client();
    let values = values(&mut db);
    let info = ["INFO bf", "INFO sketch"].map(|section| db.run(section).text()).concat();
    let fields = info.lines().filter_map(|line| line.split_once(':'));
    let numbers = fields.filter_map(|(name, value)| Some((name, value.parse::<f64>().ok()?)));
    let numbers: Vec<(&str, f64)> = numbers.collect();
    assert!(numbers.len() >= 20, "{info}");
    for (name, value) in numbers {
        assert_eq!(values.get(name), Some(&value), "{name}");
    }
    let of = |name: &str| values.get(&format!("bf_filter_{name}")).copied();
    assert_eq!(of("present:fixed"), Some(1.0));
    assert_eq!(of("items:fixed"), Some(3.0));
    assert_eq!(of("fullness:fixed"), Some(0.75));
    assert_eq!(of("fullness:counting"), Some(0.2));
    assert_eq!(of("fullness:growing"), None);
    assert_eq!(of("items:growing"), Some(1.0));
    // Of valkey-bloom's type.
    assert_eq!(of("present:came"), Some(1.0));
    assert_eq!(of("items:came"), Some(299.0));
    for name in ["text", "missing"] {
        assert_eq!(of(&format!("present:{name}")), Some(0.0));
        assert_eq!(of(&format!("items:{name}")), None);
    }
    assert!(!values.keys().any(|name| name.ends_with(":unwatched")));
    // valkey-bloom's filters may reach twice the rate asked for.
    let allowed = [("fixed", 0.01), ("growing", 0.01), ("counting", 0.01), ("came", 0.02)];
    for (key, allowed) in allowed {
        let bytes = of(&format!("bytes:{key}")).expect("bytes");
        assert!(bytes > 0.0);
        let rate = of(&format!("false_positive_rate:{key}")).expect("a rate");
        let used = of(&format!("error_rate_used:{key}")).expect("a share");
        assert!((0.0..0.02).contains(&rate), "{key}: {rate}");
        assert!((used - rate / allowed).abs() < 1e-9, "{key}: {used}");
    }
}

#[test]
fn the_script_changes_nothing_and_runs_where_writing_is_forbidden() {
    let (_server, mut db) = watched_server().with_client();
    let digest = db.digest_of_everything();
    let script = fs::read_to_string(monitoring("splitbloom.lua")).expect("the script");
    let reply = db.call(["EVAL_RO", &script, "0"]);
    assert!(!reply.is_error(), "{reply}");
    db.run("DEL splitbloom:watched");
    db.run("SET splitbloom:watched text");
    assert!(values(&mut db).contains_key("bf_lookups"));
    db.run("DEL splitbloom:watched");
    db.run("SADD splitbloom:watched fixed growing counting came text missing");
    assert_eq!(db.digest_of_everything(), digest);
}

#[test]
fn alerts_and_dashboard_ask_only_for_what_the_exporter_shows() {
    let server = watched_server();
    server.connect().run(&user());
    let shown = values(&mut server.connect());
    let shown: BTreeSet<&str> =
        shown.keys().map(|name| name.split(':').next().unwrap_or(name)).collect();
    let expressions = expressions();
    assert!(expressions.len() > 25, "{expressions:?}");
    for key in expressions.iter().flat_map(|text| keys_in(text)) {
        assert!(shown.contains(key), "{key} is not exported");
    }
    for suite in SUITES {
        let metrics = metrics_of(suite, &server);
        for value in ["bf_lookups\"} 3", "bf_filter_fullness:fixed\"} 0.75"] {
            assert!(metrics.contains(value), "{suite}: {value} in {metrics}");
        }
        for name in expressions.iter().flat_map(|text| metrics_in(text)) {
            let is_shown = |line: &str| {
                let rest = line.strip_prefix(name);
                rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
            };
            assert!(metrics.lines().any(is_shown), "{suite}: no {name}");
        }
    }
}

/// What the exporter of a Debian release shows of the server.
fn metrics_of(suite: &str, server: &Server) -> String {
    let package = "prometheus-redis-exporter";
    let mut script = Command::new(in_repository("scripts/get-file"));
    let found = script.args([suite, package, &format!("usr/bin/{package}")]).output();
    let found = found.expect("bash");
    assert!(found.status.success(), "get-file {suite} {package}");
    let path = String::from_utf8(found.stdout).expect("a path");
    let start = || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let mut command = Command::new(path.trim());
        command
            .arg("-redis.addr")
            .arg(format!("redis://127.0.0.1:{}", server.port()))
            .args(["-redis.user", "monitor", "-redis.password", "monitor-password"])
            .arg("-script")
            .arg(monitoring("splitbloom.lua"))
            .args(["-web.listen-address", &address])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        (Exporter(command.spawn().expect("the exporter")), address)
    };
    let (mut exporter, mut address) = start();
    let mut metrics = String::new();
    eventually("the exporter answers", || {
        // If another process has taken the port first, the exporter has ended.
        if exporter.0.try_wait().expect("a status").is_some() {
            (exporter, address) = start();
        }
        metrics = get(&address).unwrap_or_default();
        metrics.contains("redis_up")
    });
    metrics
}

struct Exporter(Child);

impl Drop for Exporter {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn get(address: &str) -> std::io::Result<String> {
    let mut connection = TcpStream::connect(address)?;
    // Another server that has taken the port may not answer.
    connection.set_read_timeout(Some(patient(Duration::from_secs(5))))?;
    connection.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    let mut page = String::new();
    connection.read_to_string(&mut page)?;
    Ok(page)
}

/// The expressions of all alerts and of all panels.
fn expressions() -> Vec<String> {
    let alerts = fs::read_to_string(monitoring("alerts.yml")).expect("alerts");
    let lines = alerts.lines().map(str::trim);
    let mut expressions: Vec<String> =
        lines.filter_map(|line| line.strip_prefix("expr: ")).map(str::to_owned).collect();
    let text = fs::read_to_string(monitoring("grafana.json")).expect("a dashboard");
    let dashboard: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let expression = target["expr"].as_str().expect("an expression");
            expressions.push(expression.to_owned());
        }
    }
    expressions
}

/// What stands for KEY in `key="KEY"` and `key=~"KEY:.*"`.
fn keys_in(expression: &str) -> Vec<&str> {
    let matchers = expression.split("key=").skip(1);
    let values = matchers.filter_map(|text| text.trim_start_matches('~').split('"').nth(1));
    values.map(|value| value.trim_end_matches(":.*")).collect()
}

fn metrics_in(expression: &str) -> Vec<&str> {
    let words = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("redis_")).collect()
}
