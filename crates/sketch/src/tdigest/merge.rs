//! The digest of what several digests have.

use super::answers::Joined;
use super::{pass, AddError, TDigest, MAX_WEIGHT};

impl TDigest {
    /// Adds the numbers of `other`, as far as it knows them. The result depends on the order of
    /// several others. Cost: a step for each node of both.
    ///
    /// # Errors
    /// `TooHeavy`, `OutOfMemory`; nothing has changed then.
    pub fn merge(&mut self, other: &Self) -> Result<(), AddError> {
        if other.weight() > MAX_WEIGHT - self.weight() {
            return Err(AddError::TooHeavy);
        }
        self.settle();
        let mut all = self.nodes.union(&other.nodes, &other.fresh)?;
        if all.count() > self.compression.most_nodes() {
            all = pass::try_join(&all, self.compression)?;
            self.count_pass();
        }
        (self.nodes, self.joined) = (all, Joined::default());
        self.widen(other.min, other.max);
        Ok(())
    }
}
