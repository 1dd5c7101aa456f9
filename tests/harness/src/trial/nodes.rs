//! A cluster of local processes.

use crate::{eventually, Connection, Options, Reply, Server};
use splitbloom_partition::SLOTS;
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// How long a node may be silent before the others consider it dead. The default of 15 s would only
/// make the trials longer; on a very busy machine a node may well be silent for a second or two.
const NODE_TIMEOUT_MILLISECONDS: u32 = 5000;

/// One node: its address and id.
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
        self.try_connect().expect("the node is up")
    }
}

pub struct Cluster {
    servers: Vec<Server>,
    nodes: Vec<Node>,
}

impl Cluster {
    /// Forms a cluster of primaries with equal shares of the slots, and replicas for each. The
    /// primaries come first.
    pub fn form(primaries: usize, replicas_of_each: usize) -> Cluster {
        Cluster::configured(primaries, replicas_of_each, &[])
    }

    /// Like [`Cluster::form`], with additional configuration lines.
    pub fn configured(primaries: usize, replicas_of_each: usize, lines: &[&str]) -> Cluster {
        let mut options = Options::settings(&[
            &format!("cluster-node-timeout {NODE_TIMEOUT_MILLISECONDS}"),
            // If the slots of one node are down, the others keep working.
            "cluster-require-full-coverage no",
            // Replicas do not migrate to other primaries.
            "cluster-allow-replica-migration no",
        ]);
        options.settings.extend(lines.iter().map(|line| line.to_string()));
        options.is_node = true;
        let count = primaries * (1 + replicas_of_each);
        let servers: Vec<Server> = (0..count).map(|_| Server::with(options.clone())).collect();
        let node = |server: &Server| Node {
            port: server.port(),
            id: server.connect().run("CLUSTER MYID").text(),
        };
        let cluster = Cluster { nodes: servers.iter().map(node).collect(), servers };
        cluster.introduce(primaries);
        cluster
    }

    fn introduce(&self, primaries: usize) {
        for (number, node) in self.nodes.iter().enumerate() {
            // Distinct from the start; otherwise the nodes would resolve the conflict later.
            let epoch = number + 1;
            node.connect().run(&format!("CLUSTER SET-CONFIG-EPOCH {epoch}"));
        }
        for (number, node) in self.nodes[..primaries].iter().enumerate() {
            let slots = usize::from(SLOTS);
            let (first, behind) = (number * slots / primaries, (number + 1) * slots / primaries);
            let range = format!("CLUSTER ADDSLOTSRANGE {first} {}", behind - 1);
            node.connect().run(&range);
        }
        let mut first = self.nodes[0].connect();
        eventually("every node knows every other", || {
            // Again and again: one that does not answer in time is forgotten.
            let known = first.run("CLUSTER NODES").text();
            let others = self.nodes.iter().zip(&self.servers);
            for (_, server) in others.filter(|(node, _)| !known.contains(&node.id)) {
                let (port, bus) = (server.port(), server.bus_port());
                first.run(&format!("CLUSTER MEET 127.0.0.1 {port} {bus}"));
            }
            self.nodes.iter().all(|node| {
                let info = node.connect().run("CLUSTER INFO").text();
                info.contains(&format!("cluster_known_nodes:{}\r", self.nodes.len()))
            })
        });
        // Otherwise a node may save an outdated shard for a primary's replica, and Valkey 8.1 does
        // not restart from such a file.
        self.wait_until_shards_are_known();
        for (number, replica) in self.nodes[primaries..].iter().enumerate() {
            let primary = &self.nodes[number % primaries];
            let replicate = format!("CLUSTER REPLICATE {}", primary.id);
            // It may not know yet that the other node is a primary.
            eventually("a replica accepts its primary", || {
                !replica.connect().line(&replicate).is_error()
            });
        }
        self.wait_until_healthy();
        self.wait_until_shards_are_known();
    }

    /// Waits until the files of all nodes agree on the shard of each node; servers before 7.2 have
    /// no shards.
    fn wait_until_shards_are_known(&self) {
        eventually("the nodes agree on the shards", || {
            let mut files = self.servers.iter().map(|server| shards(server.folder()));
            let first = files.next().unwrap_or_default();
            first.len() == self.nodes.len() && files.all(|shards| shards == first)
        });
    }

    /// Waits until all nodes agree on the owner of every slot, every slot is served, and every
    /// replica has caught up.
    pub fn wait_until_healthy(&self) {
        eventually("the nodes agree", || agree(&self.nodes));
        eventually("no node considers another dead", || {
            self.nodes.iter().all(|node| {
                let mut db = node.connect();
                let ok = db.run("CLUSTER INFO").text().contains("cluster_state:ok");
                let nodes = db.run("CLUSTER NODES").text();
                let links = nodes.lines().filter(|line| line.contains(" connected")).count();
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

    /// The numbers of the primary that serves a key and of another one.
    pub fn owner_and_other(&self, key: impl AsRef<[u8]>) -> [usize; 2] {
        let serves =
            |node: &Node| !node.connect().call([b"EXISTS".as_slice(), key.as_ref()]).is_error();
        let owner = self.nodes.iter().position(serves).expect("a node serves the slot");
        [owner, usize::from(owner == 0)]
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

/// The id and shard of each node, from the file of one node.
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

/// Whether the nodes that are up agree on the primaries, their epochs and the owners of slots.
pub fn agree(nodes: &[Node]) -> bool {
    let views: Vec<Vec<String>> = nodes.iter().filter_map(|node| view(node).ok()).collect();
    views.windows(2).all(|pair| pair[0] == pair[1])
}

/// The primaries as one node sees them: id, config epoch, and slots that are not being moved.
fn view(node: &Node) -> io::Result<Vec<String>> {
    let text = into_result(node.try_connect()?.try_call(["CLUSTER", "NODES"])?)?.text();
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
    for range in into_result(db.try_call(["CLUSTER", "SLOTS"])?)?.elements() {
        let [first, last, primary, ..] = range.elements() else {
            panic!("expected a range of slots: {range}")
        };
        let [_, port, id, ..] = primary.elements() else { panic!("expected a node: {primary}") };
        let owner = Node { port: Reply::integer(port) as u16, id: id.text() };
        let slots = first.integer() as usize..=last.integer() as usize;
        owners[slots].fill(Some(owner));
    }
    Ok(owners)
}

/// Turns an error reply (the node may still be loading) into an error.
pub fn into_result(reply: Reply) -> io::Result<Reply> {
    match reply {
        Reply::Error(text) => Err(io::Error::other(text)),
        reply => Ok(reply),
    }
}
