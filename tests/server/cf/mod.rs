//! The filters that count and delete: the CF commands.

mod model;
mod replies;
mod settings;
