//! The `CF.*` commands; those that `BF.*` has as well stand in the modules of
//! [both families](super).
//!
//! ```text
//!   add     CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX
//!   delete  CF.DEL, CF.COMPACT
//!   info    CF.INFO, CF.DEBUG
//! ```

pub mod add;
pub mod delete;
pub mod info;
