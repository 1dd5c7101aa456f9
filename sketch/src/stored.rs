//! A sketch as a value of the server: saved, loaded, copied, measured, moved.
//!
//! Values have RedisBloom's type names and encodings, so that files, dumps and replication streams
//! go both ways. What RedisBloom cannot represent, a sketch with a window, is saved under a type
//! name of our own: a server writes one encoding version for all values of a type.

use splitbloom_foundation::fields::FieldSink;
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::allocator::usable_bytes;
use splitbloom_server::arguments::Argument;
use splitbloom_server::context::Context;
use splitbloom_server::data_type::{
    self, AofTarget, CopyTarget, Defrag, Load, NativeType, RdbSource, RdbTarget, Value,
};
use splitbloom_server::entry::Refused;
use splitbloom_server::info::Counter;
use splitbloom_server::lapse::{self, Lapsing};
use splitbloom_server::log::warn;
use splitbloom_server::queue::{Queue, Ticket};
use splitbloom_sketch::{DecodeError, Sketch};
use std::marker::PhantomData;
use std::num::NonZeroU64;

/// Sketches in the keyspace. The server also frees them on its background thread.
pub static SKETCHES: Counter = Counter::new();

/// A family of sketches that keys hold.
pub trait Family: Sketch + Send + Sync + 'static {
    /// RedisBloom's encoding, and perhaps one of values that RedisBloom cannot represent: those
    /// with a window.
    const ENCODINGS: &'static [Encoding<Self>];

    /// The types of values in these encodings, in this order.
    fn natives() -> &'static [NativeType<Stored<Self>>];

    /// The queue in which sketches with a window wait for the end of a slice.
    fn queue() -> &'static Queue;

    /// Writes its fields, in the encoding version that the server writes.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first field.
    fn write(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        self.save(to)
    }
}

/// How the fields under one type name are read.
pub struct Encoding<S> {
    /// The type's name, nine characters.
    pub name: &'static str,
    /// The latest version that is read.
    pub latest: i32,
    /// Reads a sketch in a version, at most `latest`, or says what is wrong with its fields.
    pub read: fn(i32, &mut RdbSource) -> Result<S, DecodeError>,
}

/// The type for values in encoding number `N` of their family, which are written in `version`.
pub const fn native<S: Family, const N: usize>(version: i32) -> NativeType<Stored<S>> {
    NativeType::new::<Reader<S, N>>(S::ENCODINGS[N].name, version)
}

/// Registers the types of a family.
///
/// # Errors
/// The server already has a type of one of these names.
pub fn register<S: Family>(context: &Context) -> Result<(), Refused> {
    lapse::register::<Stored<S>>();
    data_type::register::<Stored<S>>(context)
}

/// A sketch that the server keeps.
pub struct Stored<S>(S);

impl<S: Family> Stored<S> {
    pub fn new(sketch: S) -> Self {
        SKETCHES.increment();
        Self(sketch)
    }

    /// The sketch itself.
    pub fn sketch(&self) -> &S {
        &self.0
    }

    pub fn sketch_mut(&mut self) -> &mut S {
        &mut self.0
    }
}

impl<S> Drop for Stored<S> {
    fn drop(&mut self) {
        SKETCHES.decrement();
    }
}

impl<S: Family> Value for Stored<S> {
    fn natives() -> &'static [NativeType<Self>] {
        S::natives()
    }

    fn own_native(&self) -> &'static NativeType<Self> {
        &S::natives()[usize::from(self.0.window().is_some())]
    }

    fn save(&self, target: &mut RdbTarget) {
        if self.0.write(target).is_err() {
            // A child that writes a file ends, and the old file is kept. In the server's own
            // process no module can make a save fail, and the value is saved without its fields.
            panic!("not enough memory to save a sketch");
        }
    }

    fn rewrite(&self, target: &mut AofTarget) {
        assert!(target.restore(self), "not enough memory to write a sketch");
    }

    fn memory_usage(&self) -> usize {
        usable_bytes::<Self>(|visit| self.0.visit_allocations(visit))
    }

    fn free_effort(&self) -> usize {
        self.0.allocations()
    }

    fn try_copy(&mut self, to: &CopyTarget) -> Option<Self> {
        let mut copy = Self::new(self.0.try_clone().ok()?);
        lapse::schedule_at(&mut copy, || to.location(), to.thread());
        Some(copy)
    }

    fn digest(&self) -> u128 {
        self.0.digest()
    }

    fn has_changed(&mut self, context: &Context, key: Argument<'_>) {
        if self.0.window().is_some() {
            lapse::schedule(self, context, key);
        }
    }

    fn defragment(&mut self, defrag: &Defrag, from: u64) -> Option<NonZeroU64> {
        self.0.relocate(from, &mut &*defrag)
    }
}

impl<S: Family> Lapsing for Stored<S> {
    fn queue() -> &'static Queue {
        S::queue()
    }

    fn next_change(&self, now: u64) -> Option<u64> {
        self.0.next_change(now)
    }

    fn ticket(&mut self) -> Option<&mut Option<Ticket>> {
        self.0.attachment()
    }
}

/// Reads encoding number `N` of a family, and says in the log why a value was refused.
struct Reader<S, const N: usize>(PhantomData<S>);

impl<S: Family, const N: usize> Load<Stored<S>> for Reader<S, N> {
    fn load(source: &mut RdbSource, version: i32) -> Option<Stored<S>> {
        let Encoding { name, latest, read } = S::ENCODINGS[N];
        if !(0..=latest).contains(&version) {
            let key = source.shown_key();
            warn(format_args!(
                "refused a value of type {name} in encoding version {version}. This module reads \
                 versions up to {latest}. Update splitsketch. Key {key}"
            ));
            return None;
        }
        match read(version, source) {
            Ok(sketch) => {
                let mut stored = Stored::new(sketch);
                lapse::schedule_at(&mut stored, || source.location(), source.thread());
                Some(stored)
            }
            Err(error) => {
                let key = source.shown_key();
                warn(format_args!(
                    "refused a value of type {name}: {error}. The file or dump is damaged. Key \
                     {key}"
                ));
                None
            }
        }
    }
}
