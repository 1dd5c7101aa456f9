//! Other modules that save values under the name of a type: how these are read, and what the log
//! says about one that cannot be read: its type, its writer, and what to do.

use super::chunks::load;
use super::stored::{Family, Stored};
use splitbloom_filter::{DecodeError, Filter, StoredType};
use splitbloom_server::data_type::{Load, RdbSource};
use splitbloom_server::lapse;
use splitbloom_server::log::warn;
use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

/// The encoding version of values that we save. A server stores ten bits of it. Other modules'
/// types have the same names, and use the lower half of the versions.
pub const OURS: u32 = 512;

/// Another module that writes values of a type.
pub trait Origin {
    type Family: Family;
    const TYPE: StoredType;
    /// The module's name.
    const WRITER: &'static str;
    /// The encoding versions of its values that we read.
    const VERSIONS: RangeInclusive<u32>;
    /// The advice for a value of a newer version.
    const WAY_OUT: &'static str;
    /// Reads a value that it saved in the encoding version given, or says what is wrong with it.
    const LOAD: fn(u32, &mut RdbSource) -> Result<Filter, DecodeError>;
}

/// Values that we or `O` saved.
pub struct OfOrigin<O>(PhantomData<O>);

impl<O: Origin> Load<Stored<O::Family>> for OfOrigin<O> {
    fn load(source: &mut RdbSource, version: i32) -> Option<Stored<O::Family>> {
        let loaded = match u32::try_from(version) {
            Ok(OURS) => load(source, O::Family::takes),
            Ok(version) if O::VERSIONS.contains(&version) => (O::LOAD)(version, source),
            _ => {
                refuse_version::<O>(version, source.shown_key());
                return None;
            }
        };
        let loaded = loaded.map_err(|error| refuse::<O>(version, error, source.shown_key()));
        let mut stored = Stored::new(loaded.ok()?);
        lapse::schedule_at(&mut stored, || source.location(), source.thread());
        Some(stored)
    }
}

/// Refuses a value of an encoding version that this module does not know.
fn refuse_version<O: Origin>(version: i32, key: impl Display) {
    let (name, writer, way_out) = (O::TYPE.name(), O::WRITER, O::WAY_OUT);
    let (first, last) = (*O::VERSIONS.start(), *O::VERSIONS.end());
    if version < OURS as i32 {
        warn(format_args!(
            "refused a value of type {name} in encoding version {version}, which a {writer} \
             wrote that this module does not know. It reads {first} to {last} of {writer}'s. \
             {way_out}. Key {key}"
        ));
    } else {
        warn(format_args!(
            "refused a value of type {name} in encoding version {version}, which a newer \
             splitbloom wrote. This one reads {OURS}, and {first} to {last} of {writer}'s. \
             Update it. Key {key}"
        ));
    }
}

/// Refuses a value of a known version whose bytes are invalid.
fn refuse<O: Origin>(version: i32, error: DecodeError, key: impl Display) {
    let name = O::TYPE.name();
    let writer = match version < OURS as i32 {
        true => O::WRITER,
        false => "splitbloom",
    };
    warn(format_args!(
        "refused a value of type {name} in encoding version {version} of {writer}: {error}. \
         The file or dump is damaged, or did not come from {writer}. Key {key}"
    ));
}
