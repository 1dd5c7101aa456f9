//! A module that changes a key in the event that announces it, before the command that published
//! the event has finished. The name of the key says what to do with it, and in which event:
//!
//! ```text
//!   bf.reserve/DEL/1        in the event `bf.reserve`: DEL bf.reserve/DEL/1
//!   bf.add/RENAME/2         in the event `bf.add`:     RENAME bf.add/RENAME/2 renamed
//! ```
//!
//! It acts only on a primary and never while loading, because its changes are replicated.

use redis_module::{
    redis_module, CallOptionsBuilder, CallResult, Context, ContextFlags, NotifyEvent,
};

fn interfere(context: &Context, _: NotifyEvent, event: &str, key: &[u8]) {
    let flags = context.get_flags();
    let may_act = flags.contains(ContextFlags::MASTER) && !flags.contains(ContextFlags::LOADING);
    let name = String::from_utf8_lossy(key);
    let mut words = name.split('/');
    if !may_act || words.next() != Some(event) {
        return;
    }
    let (command, arguments): (&str, &[&[u8]]) = match words.next() {
        Some("DEL") => ("DEL", &[key]),
        Some("RENAME") => ("RENAME", &[key, b"renamed"]),
        Some("SET") => ("SET", &[key, b"text"]),
        Some("FLUSHALL") => ("FLUSHALL", &[]),
        _ => return,
    };
    let replicated = CallOptionsBuilder::new().replicate().build();
    // Errors need no handling: the test checks the key.
    let _: CallResult = context.call_ext(command, &replicated, arguments);
}

redis_module! {
    name: "interferer",
    version: 1,
    allocator: (redis_module::alloc::RedisAlloc, redis_module::alloc::RedisAlloc),
    data_types: [],
    commands: [],
    event_handlers: [[@MODULE: interfere]],
}
