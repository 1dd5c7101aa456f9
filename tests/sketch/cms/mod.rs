//! The `CMS.*` commands.

mod errors;
mod info;
mod packed;
mod replies;
mod values;
mod windows;
