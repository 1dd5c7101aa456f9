//! The module's data types.

pub mod bloom;
