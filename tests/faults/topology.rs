//! Three nodes under writes. The primary changes by command and by kill, replicas are chained,
//! links are cut.

use crate::times;
use splitbloom_harness::{eventually, Family, Link, Pace, Server, Writers};
use std::time::Duration;

const FILTERS: [(Family, &str); 3] =
    [(Family::Bloom, "k"), (Family::Bloom, "l"), (Family::Counting, "m")];

/// An item counts once both replicas have it.
const PACE: Pace = Pace {
    writers: 4,
    items_per_command: 3,
    in_flight: 8,
    pause: Duration::from_millis(1),
    replicas: 2,
};

/// How many items each writer gets acknowledged between two changes.
const BETWEEN_CHANGES: u64 = 150;

struct Trio {
    nodes: Vec<Server>,
    primary: usize,
    writers: Writers,
}

impl Trio {
    fn start(pace: Pace) -> Trio {
        let (primary, mut db) = Server::configured(&["repl-backlog-size 64mb"]).with_client();
        db.run("BF.RESERVE k 0.001 100");
        db.run("BF.RESERVE l 0.01 50 EXPANSION 1");
        db.run("CF.RESERVE m 100");
        let settings = ["repl-backlog-size 64mb"];
        let replicas = [primary.replica(&settings), primary.replica(&settings)];
        Trio {
            writers: Writers::start(primary.port(), &FILTERS, pace),
            nodes: [primary].into_iter().chain(replicas).collect(),
            primary: 0,
        }
    }

    fn others(&self) -> [usize; 2] {
        [(self.primary + 1) % 3, (self.primary + 2) % 3]
    }

    fn wait_for_items(&self) {
        let aim = self.writers.slowest() + BETWEEN_CHANGES;
        eventually("items arrive", || self.writers.slowest() > aim);
    }

    /// Makes a node a replica of another.
    fn replicate(&self, node: usize, of: usize) {
        let port = self.nodes[of].port();
        self.nodes[node].connect().run(&format!("REPLICAOF 127.0.0.1 {port}"));
    }

    fn promote(&mut self, node: usize) {
        self.primary = node;
        self.writers.switch_to(self.nodes[node].port());
    }

    /// With the writers paused, checks that all three nodes are equal and have every acknowledged
    /// item.
    fn check_all(&mut self, pace: Pace) {
        self.writers.stop();
        let counts = self.writers.counts();
        let primary = &self.nodes[self.primary];
        let digest = primary.connect().digest_of_everything();
        for node in self.others().map(|other| &self.nodes[other]) {
            primary.wait_for(node);
        }
        for node in &self.nodes {
            let mut db = node.connect();
            assert_eq!(db.digest_of_everything(), digest);
            assert_eq!(self.writers.missing(&mut db, &counts), 0);
            assert!(!node.log().contains("CRITICAL"), "{}", node.log());
        }
        self.writers.resume(self.nodes[self.primary].port(), pace);
    }
}

#[test]
fn manual_failovers_lose_nothing() {
    let pace = Pace { replicas: 0, ..PACE };
    let mut trio = Trio::start(pace);
    for _ in 0..times(3, 30) {
        trio.wait_for_items();
        let (from, [next, third]) = (trio.primary, trio.others());
        let port = trio.nodes[next].port();
        let mut db = trio.nodes[from].connect();
        db.run(&format!("FAILOVER TO 127.0.0.1 {port}"));
        eventually("the failover ends", || {
            db.info("replication", "master_failover_state") == "no-failover"
                && db.info("replication", "role") == "slave"
        });
        trio.replicate(third, next);
        trio.promote(next);
        trio.wait_for_items();
        trio.check_all(pace);
    }
    println!("{} items acknowledged, 0 lost", trio.writers.acknowledged());
}

#[test]
fn replicas_can_be_chained_and_unchained_while_items_arrive() {
    let pace = Pace { replicas: 0, ..PACE };
    let mut trio = Trio::start(pace);
    let link = Link::to(trio.nodes[0].port());
    for round in 0..times(3, 30) {
        let [middle, last] = if round % 2 == 0 { [1, 2] } else { [2, 1] };
        trio.wait_for_items();
        trio.replicate(last, middle);
        trio.wait_for_items();
        trio.nodes[middle].connect().run(&format!("REPLICAOF 127.0.0.1 {}", link.port()));
        trio.wait_for_items();
        link.cut();
        trio.wait_for_items();
        eventually("the end of the chain is up", || {
            [middle, last].iter().all(|node| {
                let mut db = trio.nodes[*node].connect();
                db.info("replication", "master_link_status") == "up"
            })
        });
        trio.replicate(middle, 0);
        trio.replicate(last, 0);
        trio.check_all(pace);
    }
    println!("{} items acknowledged, 0 lost", trio.writers.acknowledged());
}
