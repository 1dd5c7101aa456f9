//! The server made safe. This layer is general: it would serve any module.
//!
//! ```text
//!   entry       the function that loads the module       allocator    the heap
//!   command     registers commands                       catch_panic  where panics end
//!   arguments   the words of a running command           log          the server's log
//!   context     what a command may ask of the server     settings     CONFIG
//!   reply       replies                                  info         INFO
//!   key         keys, opened and closed                  call         the server's functions
//!   data_type   a type of value: save, load, copy, …     failpoints   faults on demand, for tests
//!   line        text that needs no heap                  clock        the time of day
//!   alarm       calls at a later time                    events       what happens to keys
//!   place       where a key is                           elsewhere    freeing without a stop
//!   replay      commands that have run before           memory       the server's limit of memory
//!   saving      saves on other threads, and copies
//! ```
//!
//! Every call into the server is `unsafe`, and each such block says why it is sound.

pub mod alarm;
pub mod allocator;
pub mod arguments;
mod call;
pub mod catch_panic;
pub mod clock;
pub mod command;
pub mod context;
pub mod data_type;
pub mod elsewhere;
pub mod entry;
pub mod events;
#[cfg(feature = "injected-faults")]
pub mod failpoint_settings;
mod failpoints;
pub mod info;
pub mod key;
mod line;
pub mod log;
pub mod memory;
pub mod place;
mod progress;
mod refused;
pub mod replay;
pub mod reply;
mod saving;
pub mod settings;
mod text;
pub mod thread;

pub use refused::Refused;
