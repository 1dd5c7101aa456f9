//! The settings of valkey-bloom, so that its configuration files are accepted as they are.
//!
//! A setting with a counterpart is a second name for it. The server sets the settings of a module
//! in the order of their registration, whatever the order of the lines, and sets those without a
//! line to their defaults. So these names come first, and what they set becomes the default of the
//! counterpart, as a load argument does. A line with our own name overrides them.

use super::{
    rate, set_rate, BLOOM_CAPACITY, BLOOM_EXPANSION, BLOOM_RATE_SETTING, MAX_FILTER_BYTES,
};
use splitbloom_server::context::Context;
use splitbloom_server::entry::Refused;
use splitbloom_server::log::{notice, warn};
use splitbloom_server::settings::{self, Setting, Switch, Text};
use std::sync::atomic::AtomicU64;

/// The name in valkey-bloom, our own, and the one value of both.
static COUNTERPARTS: [(&str, &str, &dyn Setting); 4] = [
    ("bf.bloom-capacity", "bf.initial-size", &BLOOM_CAPACITY),
    ("bf.bloom-fp-rate", "bf.error-rate", &BLOOM_RATE_SETTING),
    ("bf.bloom-expansion", "bf.expansion-factor", &BLOOM_EXPANSION),
    ("bf.bloom-memory-usage-limit", "bf.max-filter-bytes", &MAX_FILTER_BYTES),
];

/// The bits of the ratio. The defaults here are those of valkey-bloom 1.0.
static TIGHTENING: AtomicU64 = AtomicU64::new(0.5_f64.to_bits());
static TIGHTENING_SETTING: Text = Text::new(
    || rate(&TIGHTENING).to_string(),
    |text| set_rate(&TIGHTENING, text).map_err(|_| "the ratio must be above 0 and below 1"),
);
static RANDOM_SEED: Switch = Switch::new(true);
static DEFRAGMENTATION: Switch = Switch::new(true);

/// The name, the default as CONFIG GET shows it, and the value.
static WITHOUT_EFFECT: [(&str, &str, &dyn Setting); 3] = [
    ("bf.bloom-tightening-ratio", "0.5", &TIGHTENING_SETTING),
    ("bf.bloom-use-random-seed", "yes", &RANDOM_SEED),
    ("bf.bloom-defrag-enabled", "yes", &DEFRAGMENTATION),
];

/// The values that the configuration file sets under valkey-bloom's names.
pub struct Given([Option<String>; 4]);

/// Registers the settings that have a counterpart and sets them from the server's configuration
/// file. To be called before the counterparts are registered.
///
/// # Errors
/// The server refused a name or a value.
pub fn register_counterparts(context: &Context) -> Result<Given, Refused> {
    let defaults = COUNTERPARTS.map(|(.., setting)| setting.shown());
    for (name, _, setting) in COUNTERPARTS {
        settings::register(context, name, setting)?;
    }
    settings::load_first(context)?;
    let mut defaults = defaults.into_iter();
    Ok(Given(COUNTERPARTS.map(|(.., setting)| {
        let value = setting.shown();
        (defaults.next().as_ref() != Some(&value)).then_some(value)
    })))
}

/// Registers the settings that have no counterpart.
///
/// # Errors
/// The server refused a name.
pub fn register_without_effect(context: &Context) -> Result<(), Refused> {
    WITHOUT_EFFECT
        .into_iter()
        .try_for_each(|(name, _, setting)| settings::register(context, name, setting))
}

impl Given {
    /// Logs which lines of the configuration file have no effect. To be called when all settings
    /// have their values.
    pub fn report(&self, context: &Context) {
        for ((name, own, setting), given) in COUNTERPARTS.iter().zip(&self.0) {
            let value = setting.shown();
            if let Some(given) = given.as_ref().filter(|given| **given != value) {
                warn(format_args!(
                    "{name} {given} has no effect, because {own} is set, too, to {value}: remove \
                     one of the two lines"
                ));
            }
        }
        for (name, default, setting) in WITHOUT_EFFECT {
            let value = setting.shown();
            if value != default {
                notice(context, format_args!("{name} {value} has no effect in splitbloom"));
            }
        }
    }
}
