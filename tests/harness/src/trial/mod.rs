//! The parts of a cluster trial: the nodes, a mover of slots, and the traffic.

mod mover;
mod nodes;
mod outlive;
mod traffic;

pub use mover::{move_slot, Mover};
pub use nodes::{agree, try_owners, Cluster, Node};
pub use outlive::outlive;
pub use traffic::{absent_item, add_until_acknowledged, count_found, item, Sent};
