//! The settings that arm the [`failpoints`](super::failpoints), in builds that have them.

use super::context::Context;
use super::failpoints::{
    want, BLOCKS_LEFT, CLOCK_OFFSET_MS, EXIST, KEYS_IN_USE, MIN_BYTES, SERVER_SETTING,
};
use super::refused::Refused;
use super::settings::{register as register_setting, Setting, Text};
use std::sync::PoisonError;

static PANIC: Text = Text::new(String::new, want);

static OTHER_SETTING: Text = Text::new(String::new, |name| {
    let mut other = SERVER_SETTING.lock().unwrap_or_else(PoisonError::into_inner);
    name.clone_into(&mut other);
    Ok(())
});

static SETTINGS: [(&str, &dyn Setting); 6] = [
    ("inject-panic", &PANIC),
    ("inject-server-setting", &OTHER_SETTING),
    ("inject-refusal", &BLOCKS_LEFT),
    ("inject-refusal-from", &MIN_BYTES),
    ("inject-keys-in-use", &KEYS_IN_USE),
    ("inject-clock-offset", &CLOCK_OFFSET_MS),
];

/// Registers the settings of the module `module` in builds that have them.
///
/// # Errors
/// The server has a setting of one of these names.
pub(crate) fn register(context: &Context, module: &str) -> Result<(), Refused> {
    SETTINGS.into_iter().filter(|_| EXIST).try_for_each(|(name, setting)| {
        register_setting(context, &format!("{module}.{name}"), setting)
    })
}
