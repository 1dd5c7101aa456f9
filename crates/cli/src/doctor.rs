//! What `splitbloom doctor` knows: what a server says of itself, and what to think of it.
//!
//! ```text
//!   node       what one server said: a snapshot, without an opinion
//!   site       the server of the URL, its primary, replicas and cluster: all that it leads to
//!   finding    what was found, how much it matters, a line of advice
//!   commands   who has BF.*, CF.* and the sketches     durability  what a crash may lose
//!   memory     what may be evicted, and when           access      slow log and users
//!   counters   what the modules count in INFO          keys        filters of other modules
//!   nodes      other versions, lost nodes, clocks
//! ```
//!
//! Each group is a function from the snapshot to findings. If it needs a reply that the server
//! refused, it returns that refusal, and the finding is that nothing is known.

mod access;
mod commands;
mod counters;
mod durability;
mod finding;
mod keys;
mod memory;
mod node;
mod nodes;
mod site;

pub use finding::{Finding, Level};
pub use site::Site;

use finding::Findings;
use node::Node;

/// A subject, and what there is to say of it.
type Group<Of> = (&'static str, fn(&Of) -> Findings<'_>);

/// What is looked at on each node.
const GROUPS: [Group<Node>; 9] = [
    ("commands", commands::owners),
    ("server", commands::server),
    ("saving", durability::saving),
    ("persistence", durability::persistence),
    ("memory", memory::memory),
    ("slow log", access::slow_log),
    ("users", access::users),
    ("counters", counters::counters),
    ("keys", keys::keys),
];

/// What is looked at by comparing the nodes.
const COMPARISONS: [Group<Site>; 2] = [("nodes", nodes::nodes), ("clocks", nodes::clocks)];

/// All findings, by subject; those of the server of the URL come first.
pub fn findings(site: &Site) -> Vec<Finding> {
    let mut all = Vec::new();
    for (subject, judge) in GROUPS {
        for node in &site.nodes {
            all.extend(finding::about(subject, &node.address, judge(node)));
        }
    }
    for (subject, judge) in COMPARISONS {
        all.extend(finding::about(subject, "", judge(site)));
    }
    all
}
