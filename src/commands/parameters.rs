//! The arguments that several commands share, as COMMAND DOCS shows them.

use crate::server::command::{Kind, Parameter, Times};
use std::ffi::CStr;

pub const KEY: Parameter = Parameter::new(c"key", Kind::Key, Times::Once);
pub const ITEM: Parameter = Parameter::new(c"item", Kind::Text, Times::Once);
pub const ITEMS: Parameter = Parameter::new(c"item", Kind::Text, Times::OnceOrMore);
pub const CAPACITY: Parameter = Parameter::new(c"capacity", Kind::Integer, Times::Once);
pub const ERROR: Parameter = Parameter::new(c"error", Kind::Double, Times::Once).after(c"ERROR");
pub const EXPANSION: Parameter =
    Parameter::new(c"expansion", Kind::Integer, Times::Once).after(c"EXPANSION");
pub const NONSCALING: Parameter =
    Parameter::new(c"nonscaling", Kind::Token, Times::Once).after(c"NONSCALING");
pub const NO_CREATE: Parameter =
    Parameter::new(c"nocreate", Kind::Token, Times::AtMostOnce).after(c"NOCREATE");
pub const WINDOW: Parameter =
    Parameter::new(c"seconds", Kind::Integer, Times::AtMostOnce).after(c"WINDOW");
pub const SLICES: Parameter =
    Parameter::new(c"slices", Kind::Integer, Times::AtMostOnce).after(c"SLICES");
pub const RENEW: Parameter =
    Parameter::new(c"renew", Kind::Token, Times::AtMostOnce).after(c"RENEW");
pub const TIME: Parameter = Parameter::new(c"unix-time-milliseconds", Kind::Integer, Times::Once);
pub const TIGHTENING: Parameter =
    Parameter::new(c"ratio", Kind::Double, Times::AtMostOnce).after(c"TIGHTENING");
pub const SEED: Parameter = Parameter::new(c"seed", Kind::Text, Times::AtMostOnce).after(c"SEED");

/// A keyword that stands for itself.
pub const fn word(name: &'static CStr, token: &'static CStr) -> Parameter {
    Parameter::new(name, Kind::Token, Times::Once).after(token)
}
