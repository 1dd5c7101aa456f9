//! The `CMS.*` commands.

mod cells;
pub mod encoding;
mod info;
mod packed;
mod replies;
mod values;
mod windows;
