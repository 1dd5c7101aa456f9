//! Partitions in Python: its standard library's checksum, and the program in docs/cluster.md.

use splitbloom_harness::run_python;
use splitbloom_harness::trial::Cluster;

#[test]
fn the_program_in_the_document_works() {
    let cluster = Cluster::form(3, 0);
    let port = cluster.nodes()[0].port.to_string();
    run_python(&["tests/cluster/partitioned.py", &port, "docs/cluster.md"]);
}

#[test]
fn the_recipe_for_a_cluster_runs_on_one() {
    let cluster = Cluster::form(3, 0);
    let printed = run_python(&["examples/recipes/cluster.py", &cluster.urls()[0]]);
    let expected = "found: 20000 of 20000
partitions with their mark: 16 of 16
after the loss of one: 15 of 16
";
    assert_eq!(printed, expected);
}
