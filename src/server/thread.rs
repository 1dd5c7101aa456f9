//! Which thread runs.

use super::context::Context;
use super::data_type::{CopyTarget, RdbSource};
use std::marker::PhantomData;

/// Proof that this is the server's own thread, the one that runs commands, events and timers, and
/// that loads and copies values: the server provides what it is made from nowhere else. (Another
/// module's thread may call commands, too, with the server's lock, which stops that thread.)
#[derive(Clone, Copy)]
pub struct ServerThread {
    /// Not `Send`.
    _stays_here: PhantomData<*const ()>,
}

const THIS: ServerThread = ServerThread {
    _stays_here: PhantomData,
};

impl Context {
    pub fn thread(&self) -> ServerThread {
        THIS
    }
}

impl RdbSource {
    pub fn thread(&self) -> ServerThread {
        THIS
    }
}

impl CopyTarget {
    pub fn thread(&self) -> ServerThread {
        THIS
    }
}
