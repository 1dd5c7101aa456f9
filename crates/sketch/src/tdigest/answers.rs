//! The view of a digest from which answers are computed.

use super::nodes::Nodes;
use super::{pass, TDigest};
use splitbloom_foundation::alloc::{Mover, OutOfMemory};
use std::alloc::Layout;
use std::sync::OnceLock;

/// A digest, with its nodes in one, and joined where that makes answers better.
///
/// A node's numbers are taken to spread as far as its neighbours. A single number that was added
/// next to a large node since the last pass would push all of them to one side, so a pass joins the
/// nodes, in a copy. (For 10^4 numbers, ranks were wrong by up to 4 % without it.)
pub struct Answers<'a> {
    pub(super) digest: &'a TDigest,
    joined: Option<&'a Nodes>,
}

/// The nodes that answers come from, computed at the first question since a change and kept until
/// the next one; `None` inside if they are the digest's own: a pass would join nothing.
#[derive(Debug, Default)]
pub(super) struct Joined(OnceLock<Option<Nodes>>);

impl Joined {
    /// Calls `visit` with the layout of each allocation, and how often it occurs.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        if let Some(Some(nodes)) = self.0.get() {
            nodes.visit_allocations(visit);
        }
    }

    /// Passes its memory through `mover`.
    pub fn relocate(&mut self, mover: &mut impl Mover) {
        if let Some(Some(nodes)) = self.0.get_mut() {
            nodes.relocate(mover);
        }
    }
}

impl TDigest {
    /// Returns the view that answers questions. Cost of the first one since a change: a step for
    /// each node, and the memory of a copy if there are fresh singles, or some to join.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn answers(&self) -> Result<Answers<'_>, OutOfMemory> {
        let joined = match self.joined.0.get() {
            Some(joined) => joined,
            None => {
                let settled = match self.fresh.as_slice() {
                    [] => None,
                    fresh => Some(self.nodes.try_clone_with(fresh)?),
                };
                let nodes = settled.as_ref().unwrap_or(&self.nodes);
                let joined = match pass::joins_singles(nodes, self.compression) {
                    true => Some(pass::try_join(nodes, self.compression)?.try_clone_with(&[])?),
                    false => settled,
                };
                self.joined.0.get_or_init(|| joined)
            }
        };
        Ok(Answers { digest: self, joined: joined.as_ref() })
    }
}

impl Answers<'_> {
    pub(super) fn nodes(&self) -> &Nodes {
        self.joined.unwrap_or(&self.digest.nodes)
    }
}
