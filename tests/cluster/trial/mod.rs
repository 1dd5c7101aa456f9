//! What the trials of a cluster are made of: the nodes, someone who moves slots, and the traffic of items.

#![allow(dead_code)] // each program uses its part

mod mover;
mod nodes;
mod outlive;
mod traffic;

pub use mover::{move_slot, Mover};
pub use nodes::{agree, Cluster, Node};
pub use outlive::outlive;
pub use traffic::{add_until_acknowledged, count_found, item, stranger, Sent};
