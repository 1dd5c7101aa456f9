//! The settings that arm the [`failpoints`](super::failpoints), in builds that have them.

use super::context::Context;
use super::failpoints::{
    want, BLOCKS_LEFT, CLOCK_OFFSET, KEYS_IN_USE, LARGE, MIN_BYTES, SERVER_SETTING,
};
use super::refused::Refused;
use super::settings::{register_integer, register_text, Integer, Text};
use std::sync::atomic::Ordering;
use std::sync::PoisonError;

static REFUSAL: Integer = Integer {
    default: i64::MAX,
    min: 0,
    max: i64::MAX,
    is_memory: false,
    get: || BLOCKS_LEFT.load(Ordering::Relaxed),
    set: |blocks| BLOCKS_LEFT.store(blocks, Ordering::Relaxed),
};

static REFUSAL_FROM: Integer = Integer {
    default: LARGE as i64,
    min: 1,
    max: i64::MAX,
    is_memory: false,
    get: || MIN_BYTES.load(Ordering::Relaxed) as i64,
    set: |bytes| MIN_BYTES.store(bytes as usize, Ordering::Relaxed),
};

static IN_USE: Integer = Integer {
    default: 0,
    min: 0,
    max: i64::MAX,
    is_memory: false,
    get: || KEYS_IN_USE.load(Ordering::Relaxed),
    set: |keys| KEYS_IN_USE.store(keys, Ordering::Relaxed),
};

static OFFSET: Integer = Integer {
    default: 0,
    min: i64::MIN,
    max: i64::MAX,
    is_memory: false,
    get: || CLOCK_OFFSET.load(Ordering::Relaxed),
    set: |milliseconds| CLOCK_OFFSET.store(milliseconds, Ordering::Relaxed),
};

/// Registers the settings of `module`; like all others, before they are loaded.
///
/// # Errors
/// The server has a setting of one of these names.
pub fn register(context: &Context, module: &str) -> Result<(), Refused> {
    let setting = Text::new(String::new(), String::new, want);
    let panic = Box::leak(Box::new(setting));
    register_text(context, &format!("{module}.inject-panic"), panic)?;
    let setting = Text::new(String::new(), String::new, |name| {
        let mut other = SERVER_SETTING
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        name.clone_into(&mut other);
        Ok(())
    });
    let name = format!("{module}.inject-server-setting");
    register_text(context, &name, Box::leak(Box::new(setting)))?;
    register_integer(context, &format!("{module}.inject-refusal"), &REFUSAL)?;
    let name = format!("{module}.inject-refusal-from");
    register_integer(context, &name, &REFUSAL_FROM)?;
    register_integer(context, &format!("{module}.inject-keys-in-use"), &IN_USE)?;
    register_integer(context, &format!("{module}.inject-clock-offset"), &OFFSET)
}
