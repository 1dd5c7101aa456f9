//! Adding items to a counting filter. A refused item does not stop the rest.

use crate::commands::create::add_to;
use crate::commands::ration::Ration;
use crate::commands::reply_error::ReplyError;
use crate::stats;
use crate::types::CountingFilters;
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::{Adding, Filter, SizeLimit};
use splitbloom_grammar::counting::CountingCreation;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::context::Context;
use std::ffi::CStr;

/// Whether an item was added, or why it was refused.
pub(super) type Answer = Result<bool, AddError>;

/// The items that a command adds.
pub(super) struct Request {
    /// The name of the event, which is that of the command.
    pub event: &'static CStr,
    pub adding: Adding,
    /// What to create if the key is missing; `None` makes that an error.
    pub creation: Option<CountingCreation>,
    /// The argument index of the first item. All later arguments are items, too.
    pub first_item: usize,
}

impl Request {
    /// Adds the items, and appends the answer for each to `answers`, which has room for them.
    /// Returns the error that kept the rest from being tried, if any.
    pub fn run(
        &self,
        context: &Context,
        arguments: Arguments<'_>,
        answers: &mut Vec<Answer>,
    ) -> Result<Option<ReplyError>, ReplyError> {
        let creation = self.creation.as_ref();
        let ration = Ration::new(context);
        let add = |filter: &mut Filter, limit| {
            let items = ration.of(arguments.bytes_from(self.first_item));
            // The closure returns no error, so no item stops the rest.
            let _ = filter.add_copies(items, self.adding, limit, |answer| {
                answers.push(answer);
                Ok(())
            });
            if answers.contains(&Err(AddError::Full)) && context.is_replay() {
                self.add_refused(filter, arguments, answers);
            }
            let added = answers.iter().filter(|answer| **answer == Ok(true)).count();
            stats::ITEMS_ADDED.add(added as u64);
            Ok((added > 0, answers))
        };
        let replicate = |answers: &&mut Vec<Answer>| self.replicate(context, arguments, answers);
        let key = arguments.at(1);
        add_to::<CountingFilters, _>(context, key, self.event, creation, add, replicate)?;
        Ok(ration.refusal())
    }

    /// Tries again to add the items that were refused because the filter is full: the primary may
    /// have been RedisBloom, with room where there is none here.
    fn add_refused(&self, filter: &mut Filter, arguments: Arguments<'_>, answers: &mut [Answer]) {
        let items = arguments.bytes_from(self.first_item);
        for (item, answer) in items.zip(answers) {
            if *answer == Err(AddError::Full) {
                *answer = filter.add_copy(item, self.adding, SizeLimit::Replay);
            }
        }
    }

    /// The command that adds these items, several at a time.
    fn insert(&self) -> &'static CStr {
        match self.adding {
            Adding::Copies => c"CF.INSERT",
            Adding::Absent => c"CF.INSERTNX",
        }
    }

    /// Replicates what took effect: the command as it came, unless an item was refused or not
    /// tried, since a replica might add it. Then the command ends before that item, and a CF.ADD
    /// follows for each later one that was added. An expiry is replicated apart from it.
    fn replicate(&self, context: &Context, arguments: Arguments<'_>, answers: &[Answer]) {
        let key = arguments.at(1);
        let refused = answers.iter().position(Result::is_err);
        let refused = refused.unwrap_or(answers.len());
        let expires = self.creation.is_some_and(|creation| creation.expiry.is_some());
        if self.first_item + refused == arguments.len() && !expires {
            return context.replicate_verbatim();
        }
        let (before, after) = answers.split_at(refused);
        if before.contains(&Ok(true)) {
            let args = (self.first_item - 1, self.first_item + refused); // from ITEMS on
            context.replicate_before(self.insert(), key, [], arguments, args);
        }
        for (index, answer) in after.iter().enumerate() {
            if *answer == Ok(true) {
                let item = self.first_item + refused + index;
                context.replicate_before(c"CF.ADD", key, [], arguments, (item, item + 1));
            }
        }
    }
}
