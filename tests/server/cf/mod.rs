//! The filters that count and delete: the CF commands.

mod accuracy;
mod model;
mod replies;
mod settings;
