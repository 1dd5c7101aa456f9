//! Commands with many items in one argument: how their words are described, and how they are
//! replicated.

use super::arguments::Arguments;
use super::change::{Change, Replicated};
use super::command::{Kind, Parameter, Times};
use super::data_type::Value;
use super::text::ShortText;
use std::ffi::CStr;
use std::ops::Range;

/// How the items are separated.
pub const LAYOUT: Parameter = Parameter::one_of(
    c"layout",
    Times::Once,
    &[
        Parameter::new(c"width", Kind::Integer, Times::Once).after(c"FIXED"),
        Parameter::word(c"lines", c"LINES"),
        Parameter::word(c"prefixed", c"PREFIXED"),
    ],
);
/// The items, one after another.
pub const ITEMS: Parameter = Parameter::new(c"items", Kind::Text, Times::Once);

/// A running command with a layout, followed by all its items in one argument.
pub struct PackedCommand<'a> {
    arguments: Arguments<'a>,
    /// The arguments from the layout up to the items.
    layout: Range<usize>,
}

impl<'a> PackedCommand<'a> {
    /// The command with these `arguments`, of which those in `layout` are the layout.
    pub fn new(arguments: Arguments<'a>, layout: Range<usize>) -> Self {
        Self { arguments, layout }
    }

    /// Replicates `change` as `name key [AT time] layout items`, with the command's own items or,
    /// if given, with `fewer`. Its own items are not copied.
    pub fn replicate<'c, V: Value>(
        &self,
        change: Change<'c, V>,
        name: &CStr,
        time: Option<u64>,
        fewer: Option<&[u8]>,
    ) -> Replicated<'c> {
        let time = time.map(ShortText::of);
        let before = time.iter().flat_map(|time| [b"AT".as_slice(), time.bytes()]);
        match fewer {
            None => {
                let rest = self.arguments.range(self.layout.start..self.layout.end + 1);
                change.replicate_before(name, before, rest)
            }
            Some(items) => {
                let layout = self.layout.clone().map(|word| self.arguments.bytes(word));
                change.replicate(name, before.chain(layout).chain([items]))
            }
        }
    }
}
