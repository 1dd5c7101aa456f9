//! A sketch as a value of the server: saved, loaded, copied, measured, moved.
//!
//! Values have RedisBloom's type names and encodings, so that files, dumps and replication streams
//! go both ways. What RedisBloom cannot represent, a sketch with a window, is saved under a type
//! name of our own: a server writes one encoding version for all values of a type.

use splitbloom_foundation::fields::{FieldSink, Fields};
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
    /// The type of RedisBloom's values, and perhaps the one of values that RedisBloom cannot
    /// represent.
    fn natives() -> &'static [NativeType<Stored<Self>>];
    /// Whether it is saved under the other type.
    fn has_own_type(&self) -> bool {
        false
    }
    /// Writes its fields, in the encoding version that the server writes.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first field.
    fn write(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        self.save(to)
    }
    /// Where those with a window wait for the end of a slice, if the family has them.
    fn queue() -> &'static Queue {
        static UNUSED: Queue = Queue::new();
        &UNUSED
    }
}

/// How the fields under one type name are read.
pub trait Encoding {
    type Sketch: Family;
    /// The type's name, nine characters.
    const NAME: &'static str;
    /// The latest version that is read.
    const LATEST: i32 = 0;

    /// Reads a sketch in encoding `version`, at most [`LATEST`](Self::LATEST).
    ///
    /// # Errors
    /// What is wrong with its fields.
    fn read(version: i32, fields: &mut impl Fields) -> Result<Self::Sketch, DecodeError>;
}

/// The type for values in the encoding `E`, which are written in `version`.
pub const fn native<E: Encoding>(version: i32) -> NativeType<Stored<E::Sketch>> {
    NativeType::new::<Reader<E>>(E::NAME, version)
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
        &S::natives()[usize::from(self.0.has_own_type())]
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
        // RedisBloom's have no window, and need not know the time.
        if self.0.has_own_type() {
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

/// Reads the encoding `E`, and says in the log why a value was refused.
struct Reader<E>(PhantomData<E>);

impl<E: Encoding> Load<Stored<E::Sketch>> for Reader<E> {
    fn load(source: &mut RdbSource, version: i32) -> Option<Stored<E::Sketch>> {
        let (name, latest) = (E::NAME, E::LATEST);
        if !(0..=latest).contains(&version) {
            let key = source.shown_key();
            warn(format_args!(
                "refused a value of type {name} in encoding version {version}. This module reads \
                 versions up to {latest}. Update splitsketch. Key {key}"
            ));
            return None;
        }
        match E::read(version, source) {
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
