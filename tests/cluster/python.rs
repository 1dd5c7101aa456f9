//! The same in Python: the checksum of its standard library, and the program in docs/cluster.md.

use splitbloom_harness::trial::Cluster;
use splitbloom_harness::{python, Random};
use splitbloom_partition::crc16;
use std::env;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::thread;

const ITEMS: usize = 100_000;
const LONGEST: u64 = 40;

/// Reads items, each preceded by its length in one byte, and writes their checksums.
const CHECKSUMS: &str = "
import binascii, sys
data, place = sys.stdin.buffer.read(), 0
while place < len(data):
    end = place + 1 + data[place]
    print(binascii.crc_hqx(data[place + 1:end], 0))
    place = end
";

#[test]
fn python_computes_the_same_checksum() {
    let mut random = Random::seeded(7);
    let items: Vec<Vec<u8>> = (0..ITEMS)
        .map(|_| {
            let len = random.below(LONGEST) as usize;
            random.bytes(len)
        })
        .collect();
    let input: Vec<u8> = items
        .iter()
        .flat_map(|item| std::iter::once(item.len() as u8).chain(item.iter().copied()))
        .collect();
    let mut child = python()
        .args(["-c", CHECKSUMS])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a Python; set SPLITBLOOM_PYTHON");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = thread::spawn(move || stdin.write_all(&input).expect("it reads its input"));
    let output = child.wait_with_output().expect("it exits");
    writer.join().expect("the writer does not panic");
    let text = String::from_utf8(output.stdout).expect("digits");
    let theirs: Vec<u16> = text.lines().map(|line| line.parse().expect("a number")).collect();
    let ours: Vec<u16> = items.iter().map(|item| crc16(item)).collect();
    assert!(theirs == ours, "{} and {} checksums differ", theirs.len(), ours.len());
}

#[test]
fn the_program_in_the_document_works() {
    let cluster = Cluster::form(3, 0);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let port = cluster.nodes()[0].port.to_string();
    let output = python()
        .arg(root.join("tests/cluster/partitioned.py"))
        .arg(&port)
        .arg(root.join("docs/cluster.md"))
        .output()
        .expect("a Python with redis-py");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_recipe_for_a_cluster_runs_on_one() {
    let cluster = Cluster::form(3, 0);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/recipes/cluster.py");
    let output =
        python().arg(script).arg(&cluster.urls()[0]).output().expect("a Python with redis-py");
    let printed = String::from_utf8_lossy(&output.stdout);
    let expected = "found: 20000 of 20000
partitions with their mark: 16 of 16
after the loss of one: 15 of 16
";
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(printed, expected, "{errors}");
}
