//! The `CMS.*` commands.

mod errors;
mod info;
mod replies;
mod values;
mod windows;
