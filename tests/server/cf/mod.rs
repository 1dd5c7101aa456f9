//! The filters that count and delete: the CF commands.

mod accuracy;
mod effects;
mod errors;
mod model;
mod replies;
mod settings;
