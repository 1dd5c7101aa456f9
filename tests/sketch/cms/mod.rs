//! The `CMS.*` commands.

mod cells;
mod encoding;
mod errors;
mod info;
mod packed;
mod replies;
mod values;
mod windows;
