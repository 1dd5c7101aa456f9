//! Calling into the server: the one place where a function of its table is looked up.

/// Calls a function of the server's table: `call!(RedisModule_Name(arguments))`. A function that every server from 7.0 on has is
/// always there; were it not, the call panics, and the guard turns that into an error.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        {
            $crate::redis::injection::step();
            (redis_module::raw::$name.expect(stringify!($name)))($($argument),*)
        }
    };
}

pub(super) use call;
