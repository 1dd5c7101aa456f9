//! The progress of a reply.

/// The progress of the reply to the running command. Even a command that panics halfway must
/// complete its one reply, with as many elements as each array and map announced: otherwise the
/// client takes the next reply for the rest of this one.
///
/// The number of elements still to come; at 0 the reply is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress(usize);

impl Progress {
    /// Nothing has been sent.
    pub(crate) const SILENT: Self = Self(1);

    /// After one more element, which announces `elements` of its own.
    pub(crate) fn after(self, elements: usize) -> Self {
        Self(self.0.saturating_sub(1) + elements)
    }

    /// The number of replies that complete it.
    pub(crate) fn lacking(self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_command_lacks_one_reply_and_one_that_has_replied_lacks_none() {
        assert_eq!(Progress::SILENT.lacking(), 1);
        assert_eq!(Progress::SILENT.after(0).lacking(), 0);
    }

    #[test]
    fn an_array_lacks_its_elements_and_those_of_arrays_inside_it() {
        let begun = Progress::SILENT.after(3);
        assert_eq!(begun.lacking(), 3);
        let inner = begun.after(0).after(2);
        assert_eq!(inner.lacking(), 3, "two inside, one after");
        assert_eq!(inner.after(0).after(0).after(0).lacking(), 0);
    }
}
