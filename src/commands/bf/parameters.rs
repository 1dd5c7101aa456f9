//! The arguments that several commands share, as COMMAND DOCS shows them.

use crate::server::command::{Kind, Parameter, Times};

pub(super) const KEY: Parameter = Parameter::new(c"key", Kind::Key, Times::Once);
pub(super) const ITEM: Parameter = Parameter::new(c"item", Kind::Text, Times::Once);
pub(super) const ITEMS: Parameter = Parameter::new(c"item", Kind::Text, Times::OnceOrMore);
pub(super) const EXPANSION: Parameter =
    Parameter::new(c"expansion", Kind::Integer, Times::Once).after(c"EXPANSION");
pub(super) const NONSCALING: Parameter =
    Parameter::new(c"nonscaling", Kind::Token, Times::Once).after(c"NONSCALING");
