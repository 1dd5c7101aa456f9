//! The mathematics: the same on every machine, because it decides where bits lie.

pub mod model;
mod power;

pub use power::power;
