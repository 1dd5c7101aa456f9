//! Mathematics that gives the same results on every machine, because it decides where bits lie.

pub mod model;
mod power;
#[allow(unsafe_code, reason = "converts in one instruction")]
mod whole;

pub use power::power;
pub use whole::{whole, MAX_WHOLE};
