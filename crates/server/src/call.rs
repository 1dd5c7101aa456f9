//! Calling into the server.
//!
//! A server fills a table of functions when it loads the module. `call!` looks one of them up there
//! and calls it, so that a caller's `unsafe` block contains one operation, the call, and states the
//! premises of that call. Every server since Redis 7.0 has all of these functions. If one were
//! missing, the call would panic, which [`catch_panic`](super::catch_panic) turns into an error. A
//! function that only some servers have is looked up with `optional!`.

/// Calls a function of the server: `call!(RedisModule_Name(arguments))`. Tests can make it panic
/// instead (see [`failpoints`](super::failpoints)).
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        $crate::failpoints::step();
        #[allow(unused_unsafe, reason = "the caller's block is for the call")]
        let function = $crate::call::optional!($name)
            .expect(concat!(stringify!($name), ": every server since Redis 7.0 has it"));
        function($($argument),*)
    }};
}

/// A function that only some servers have: `optional!(RedisModule_Name)` is `Some` where they do.
/// Outside a server it is always `None`.
macro_rules! optional {
    ($name:ident) => {
        // SAFETY: the table is filled once, before anything else of the module runs.
        unsafe { redis_module::raw::$name }
    };
}

pub(crate) use {call, optional};
