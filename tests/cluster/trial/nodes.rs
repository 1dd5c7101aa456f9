//! A cluster of processes on loopback.

use crate::harness::{eventually, Connection, Options, Reply, Server};
use splitbloom::partition::SLOTS;
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// How long a node may be silent before the others take it for dead. The default of 15 s would only make the trials longer; on a machine that is
/// very busy a node may well be silent for a second or two.
const NODE_TIMEOUT_MILLISECONDS: u32 = 5000;

/// One node, as others name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub port: u16,
    pub id: String,
}

impl Node {
    pub fn try_connect(&self) -> io::Result<Connection> {
        Connection::open(self.port)
    }

    pub fn connect(&self) -> Connection {
        self.try_connect().expect("a node that is there")
    }
}

pub struct Cluster {
    servers: Vec<Server>,
    nodes: Vec<Node>,
}

impl Cluster {
    /// So many primaries with an equal share of the slots each, and for each so many replicas. The primaries come first.
    pub fn form(primaries: usize, replicas_of_each: usize) -> Cluster {
        let mut options = Options::settings(&[
            &format!("cluster-node-timeout {NODE_TIMEOUT_MILLISECONDS}"),
            // Where the slots of one node are out of service, the others go on.
            "cluster-require-full-coverage no",
            // Replicas stay where they are put.
            "cluster-allow-replica-migration no",
        ]);
        options.is_node = true;
        let count = primaries * (1 + replicas_of_each);
        let servers: Vec<Server> = (0..count).map(|_| Server::with(options.clone())).collect();
        let node = |server: &Server| Node {
            port: server.port(),
            id: server.connect().run("CLUSTER MYID").text(),
        };
        let cluster = Cluster {
            nodes: servers.iter().map(node).collect(),
            servers,
        };
        cluster.introduce(primaries);
        cluster
    }

    fn introduce(&self, primaries: usize) {
        for (number, node) in self.nodes.iter().enumerate() {
            // Different from the beginning: else the nodes would sort it out among themselves, later.
            let epoch = number + 1;
            node.connect()
                .run(&format!("CLUSTER SET-CONFIG-EPOCH {epoch}"));
        }
        for (number, node) in self.nodes[..primaries].iter().enumerate() {
            let slots = usize::from(SLOTS);
            let (first, behind) = (number * slots / primaries, (number + 1) * slots / primaries);
            let range = format!("CLUSTER ADDSLOTSRANGE {first} {}", behind - 1);
            node.connect().run(&range);
        }
        let mut first = self.nodes[0].connect();
        for server in &self.servers[1..] {
            let (port, bus) = (server.port(), server.bus_port());
            first.run(&format!("CLUSTER MEET 127.0.0.1 {port} {bus}"));
        }
        eventually("every node knows every other", || {
            self.nodes.iter().all(|node| {
                let info = node.connect().run("CLUSTER INFO").text();
                info.contains(&format!("cluster_known_nodes:{}\r", self.nodes.len()))
            })
        });
        // Else a node may keep an outdated shard of a primary for its replica, and Valkey 8.1 does not start again from such a file.
        self.wait_until_shards_are_known();
        for (number, replica) in self.nodes[primaries..].iter().enumerate() {
            let primary = &self.nodes[number % primaries];
            let replicate = format!("CLUSTER REPLICATE {}", primary.id);
            // It may not have heard yet what kind of node that is.
            eventually("a replica takes its place", || {
                !replica.connect().line(&replicate).is_error()
            });
        }
        self.wait_until_whole();
        self.wait_until_shards_are_known();
    }

    /// Returns when the files of all nodes name the same shard for each node, if they name any: servers before 7.2 have none.
    fn wait_until_shards_are_known(&self) {
        eventually("the nodes agree on the shards", || {
            let mut files = self.servers.iter().map(|server| shards(server.folder()));
            let first = files.next().unwrap_or_default();
            first.len() == self.nodes.len() && files.all(|shards| shards == first)
        });
    }

    /// Returns when all nodes agree on the owner of every slot, no slot is out of service, and every replica has what its primary has.
    pub fn wait_until_whole(&self) {
        eventually("the nodes agree", || agree(&self.nodes));
        eventually("no node takes another for dead", || {
            self.nodes.iter().all(|node| {
                let mut db = node.connect();
                let ok = db.run("CLUSTER INFO").text().contains("cluster_state:ok");
                let nodes = db.run("CLUSTER NODES").text();
                let links = nodes
                    .lines()
                    .filter(|line| line.contains(" connected"))
                    .count();
                ok && !nodes.contains("fail") && links == self.nodes.len()
            })
        });
        eventually("every replica is up", || {
            self.nodes.iter().all(|node| {
                let mut db = node.connect();
                db.info("replication", "role") == "master"
                    || db.info("replication", "master_link_status") == "up"
            })
        });
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn urls(&self) -> Vec<String> {
        let url = |node: &Node| format!("redis://127.0.0.1:{}", node.port);
        self.nodes.iter().map(url).collect()
    }

    pub fn server(&self, number: usize) -> &Server {
        &self.servers[number]
    }

    pub fn kill(&mut self, number: usize) {
        self.servers[number].kill();
    }

    pub fn start_again(&mut self, number: usize) {
        self.servers[number].start_again();
    }
}

/// Of each node in the file that a node keeps: its id and the shard it is in.
fn shards(folder: &Path) -> BTreeMap<String, Option<String>> {
    let text = fs::read_to_string(folder.join("nodes.conf")).unwrap_or_default();
    let nodes = text.lines().filter_map(|line| line.split_once(' '));
    let nodes = nodes.filter(|(id, _)| *id != "vars");
    nodes
        .map(|(id, rest)| {
            let (_, shard) = rest.split_once("shard-id=").unzip();
            let end = |c: char| !c.is_ascii_hexdigit();
            let shard = shard.and_then(|shard| shard.split(end).next());
            (id.to_string(), shard.map(str::to_string))
        })
        .collect()
}

/// Whether those of the nodes that are there agree on the primaries, on their epochs, and on who owns what.
pub fn agree(nodes: &[Node]) -> bool {
    let views: Vec<Vec<String>> = nodes.iter().filter_map(|node| view(node).ok()).collect();
    views.windows(2).all(|pair| pair[0] == pair[1])
}

/// The primaries as one node sees them: id, epoch of its claims, slots; but for those on their way.
fn view(node: &Node) -> io::Result<Vec<String>> {
    let text = good(node.try_connect()?.try_call(["CLUSTER", "NODES"])?)?.text();
    let primary = |line: &str| {
        // id, address, flags, primary, ping, pong, epoch, link, slots
        let words: Vec<&str> = line.split(' ').collect();
        let is_primary = words.len() > 7 && words[2].contains("master");
        is_primary.then(|| {
            let slots = words[8..].iter().filter(|slots| !slots.starts_with('['));
            let slots: Vec<&str> = slots.copied().collect();
            format!("{} {} {}", words[0], words[6], slots.join(" "))
        })
    };
    let mut primaries: Vec<String> = text.lines().filter_map(primary).collect();
    primaries.sort();
    Ok(primaries)
}

/// The owner of each slot, as one node sees it.
pub fn try_owners(db: &mut Connection) -> io::Result<Vec<Option<Node>>> {
    let mut owners = vec![None; usize::from(SLOTS)];
    for range in good(db.try_call(["CLUSTER", "SLOTS"])?)?.elements() {
        let [first, last, primary, ..] = range.elements() else {
            panic!("a range of slots was expected: {range}")
        };
        let [_, port, id, ..] = primary.elements() else {
            panic!("a node was expected: {primary}")
        };
        let owner = Node {
            port: Reply::integer(port) as u16,
            id: id.text(),
        };
        let slots = first.integer() as usize..=last.integer() as usize;
        owners[slots].fill(Some(owner));
    }
    Ok(owners)
}

/// An error that a node answers (it may still be loading) as one of its own.
pub fn good(reply: Reply) -> io::Result<Reply> {
    match reply {
        Reply::Error(text) => Err(io::Error::other(text)),
        reply => Ok(reply),
    }
}
