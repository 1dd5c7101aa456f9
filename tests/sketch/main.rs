//! The module for sketches, on a real server, next to the module for filters.

mod cms;
mod effects;
mod errors;
mod errors_in_replays;
mod hostile;
mod memory;
mod module;
mod replays;
mod tdigest;
mod topk;
mod values;
