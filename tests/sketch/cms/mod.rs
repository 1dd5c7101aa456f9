//! The `CMS.*` commands.

mod cells;
pub mod encoding;
mod packed;
mod replies;
mod values;
mod windows;
