//! Filters that are being folded, for BF.SHRINK. Each has a journal, which ends when the filter
//! changes in another way than by adds. New items go into the folded filter at once, since one add
//! may be too large for the journal.

use super::waiting::Pulse;
use super::{address, journals, NotFollowed};
use splitbloom_filter::filter::Shrinking;
use splitbloom_filter::hash::ItemHash;
use splitbloom_filter::{AddError, Filter};
use splitbloom_server::context::Context;
use splitbloom_server::thread::free_in_background;
use std::mem::replace;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A fold, or why it has failed.
pub type Folded = Mutex<Result<Shrinking, AddError>>;

/// A fold in progress.
pub struct Fold {
    folded: Arc<Folded>,
    /// The pulse of the filter's journal, which is not idle as long as this exists.
    _pulse: Arc<Pulse>,
}

fn locked(folded: &Folded) -> MutexGuard<'_, Result<Shrinking, AddError>> {
    // A panic in a step becomes an error of its command; one in an add ends the journal.
    folded.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds an item that was new in the filter.
pub(super) fn add(folded: &Folded, hash: ItemHash) {
    let mut fold = locked(folded);
    let added = fold.as_mut().map(|shrinking| shrinking.add(hash));
    if let Ok(Err(error)) = added {
        *fold = Err(error);
    }
}

impl Fold {
    /// Begins to fold `filter`.
    ///
    /// # Errors
    /// Why the filter has no journal.
    pub fn begin(
        context: &Context,
        filter: &Filter,
        shrinking: Shrinking,
    ) -> Result<Self, NotFollowed> {
        let mut journals = journals();
        let journal = journals.of(context, filter)?;
        let folded = Arc::new(Mutex::new(Ok(shrinking)));
        journal.fold = Arc::downgrade(&folded);
        Ok(Self { folded, _pulse: journal.pulse.clone() })
    }

    /// Whether `filter` is the one being folded, and has changed only by adds, which went into this
    /// fold. A later fold of the same filter takes its place.
    pub fn is_of(&self, filter: &Filter) -> bool {
        let journals = journals();
        let journal = journals.by_address.get(&address(filter));
        journal.is_some_and(|journal| journal.fold.ptr_eq(&Arc::downgrade(&self.folded)))
    }

    /// The folded filter. No add may come while the caller holds it.
    pub fn folded(&self) -> MutexGuard<'_, Result<Shrinking, AddError>> {
        locked(&self.folded)
    }
}

/// A fold that ends in vain may be large: its client has gone, or the filter has changed.
impl Drop for Fold {
    fn drop(&mut self) {
        if let Ok(folded) = replace(&mut *self.folded(), Err(AddError::Full)) {
            free_in_background("bf-free", folded);
        }
    }
}
