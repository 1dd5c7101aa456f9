//! The same in Python: the checksum of its standard library, and the program in docs/cluster.md.

use splitbloom_harness::python;
use splitbloom_harness::trial::Cluster;
use std::env;
use std::path::Path;

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
