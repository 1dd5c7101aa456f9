//! A change of a key: its value is opened, acted on, settled, replicated and signalled, and then
//! the client gets its reply. Each step returns what the next one needs, so that no command takes
//! them in another order:
//!
//! ```text
//!   Context::entry ─► Entry ─► Target ─► settle ─► Change ─► replicate ─► Replicated ─► signal
//! ```
//!
//! Signals come last, after the key is closed: a module that is notified may change or delete the
//! key, and that must replicate after this change. What is dropped before `settle` has changed
//! nothing: a new value is freed, and its key stays missing.

use super::allocator::try_box;
use super::arguments::{Argument, Arguments};
use super::context::Context;
use super::data_type::Value;
use super::key::{OpenError, WriteKey};
use super::text::ShortText;
use std::ffi::CStr;
use std::ptr::NonNull;

/// A key that a command is to write.
pub enum Entry<'a, V> {
    /// It has a value.
    Occupied(Target<'a, V>),
    /// It is missing.
    Vacant(Vacant<'a>),
}

/// A key, open for writing.
struct Open<'a> {
    context: &'a Context,
    name: Argument<'a>,
    key: WriteKey<'a>,
}

/// A missing key.
pub struct Vacant<'a>(Open<'a>);

/// The value of a key, or a new one that the key gets when it settles.
pub struct Target<'a, V> {
    open: Open<'a>,
    held: Held<V>,
}

enum Held<V> {
    /// The key's value, which lives as long as the key is open.
    Present(NonNull<V>),
    New(Box<V>),
}

/// A value that has changed. The change must be replicated.
#[must_use = "a change must be replicated"]
pub struct Change<'a, V> {
    open: Open<'a>,
    /// The key's.
    value: NonNull<V>,
    is_new: bool,
    creation: Option<Creation>,
}

/// The creation of a value by a command that also adds to it.
struct Creation {
    event: &'static CStr,
    /// When the key expires, in milliseconds since 1970.
    expiry: Option<u64>,
}

/// A change that has been replicated. It must be signalled.
#[must_use = "a change must be signalled"]
pub struct Replicated<'a> {
    open: Open<'a>,
    creation: Option<Creation>,
}

impl Context {
    /// Opens the key `name` for writing. Cost: one look-up.
    ///
    /// # Errors
    /// `InUse`, or `WrongType`.
    pub fn entry<'a, V: Value>(&'a self, name: Argument<'a>) -> Result<Entry<'a, V>, OpenError> {
        let mut key = self.open_to_write(name)?;
        let present = key.value::<V>()?.map(NonNull::from);
        let open = Open { context: self, name, key };
        Ok(match present {
            Some(value) => Entry::Occupied(Target { open, held: Held::Present(value) }),
            None => Entry::Vacant(Vacant(open)),
        })
    }

    /// Opens the value of the key `name` for writing; `None` if the key is missing.
    ///
    /// # Errors
    /// `InUse`, or `WrongType`.
    pub fn existing<'a, V: Value>(
        &'a self,
        name: Argument<'a>,
    ) -> Result<Option<Target<'a, V>>, OpenError> {
        Ok(match self.entry(name)? {
            Entry::Occupied(target) => Some(target),
            Entry::Vacant(_) => None,
        })
    }
}

impl<'a> Vacant<'a> {
    /// A target with `value`, which the key gets when it settles; `None` without memory for it.
    pub fn with<V: Value>(self, value: V) -> Option<Target<'a, V>> {
        Some(Target { open: self.0, held: Held::New(try_box(value)?) })
    }
}

impl<'a, V: Value> Target<'a, V> {
    /// The value of a key that a timer has opened; `None` if it has no such value.
    pub fn of_timer(
        context: &'a Context,
        name: Argument<'a>,
        mut key: WriteKey<'a>,
    ) -> Option<Self> {
        let value = NonNull::from(key.value::<V>().ok()??);
        Some(Self { open: Open { context, name, key }, held: Held::Present(value) })
    }

    /// Whether the key was missing.
    pub fn is_new(&self) -> bool {
        matches!(self.held, Held::New(_))
    }

    /// The value.
    pub fn value(&self) -> &V {
        match &self.held {
            // SAFETY: it lives as long as the key is open, and is reached through this alone.
            Held::Present(value) => unsafe { value.as_ref() },
            Held::New(value) => value,
        }
    }

    /// The value.
    pub fn value_mut(&mut self) -> &mut V {
        match &mut self.held {
            // SAFETY: it lives as long as the key is open. The borrow is unique because that of the
            // target is: a command that also reads the key as a source has closed it again.
            Held::Present(value) => unsafe { value.as_mut() },
            Held::New(value) => value,
        }
    }

    /// Declares that the value has changed. A new value is put into its key.
    pub fn settle(self) -> Change<'a, V> {
        let Self { mut open, held } = self;
        let is_new = matches!(held, Held::New(_));
        let mut value = match held {
            Held::Present(value) => value,
            Held::New(value) => NonNull::from(open.key.put(value)),
        };
        // SAFETY: it lives as long as the key is open, and is reached through this alone.
        unsafe { value.as_mut() }.has_changed(open.context, open.name);
        Change { open, value, is_new, creation: None }
    }
}

impl<'a, V: Value> Change<'a, V> {
    /// Whether the key was missing.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The value as it is now.
    pub fn value(&self) -> &V {
        // SAFETY: it lives as long as the key is open, and nothing changes it any more.
        unsafe { self.value.as_ref() }
    }

    /// Declares that the command has also created the value: publishes `event`, too. With `expiry`
    /// the key expires at that time, in milliseconds since 1970.
    pub fn creates(&mut self, event: &'static CStr, expiry: Option<u64>) {
        expiry.iter().for_each(|time| self.open.key.expire_at(*time));
        self.creation = Some(Creation { event, expiry });
    }

    /// Replicates the running command as the client sent it.
    pub fn replicate_verbatim(self) -> Replicated<'a> {
        self.open.context.replicate_verbatim();
        self.replicated()
    }

    /// Replicates `name key args…`.
    ///
    /// # Panics
    /// If there are more than 16 `args`.
    pub fn replicate<'b>(
        self,
        name: &CStr,
        args: impl IntoIterator<Item = &'b [u8]>,
    ) -> Replicated<'a> {
        self.replicate_before(name, args, Arguments::NONE)
    }

    /// Replicates `name key args…`, and after `args` the `arguments`, which are some of the running
    /// command's. Without `args` it allocates nothing: there may be no memory left.
    ///
    /// # Panics
    /// If there are more than 16 `args`.
    pub fn replicate_before<'b>(
        self,
        name: &CStr,
        args: impl IntoIterator<Item = &'b [u8]>,
        arguments: Arguments<'_>,
    ) -> Replicated<'a> {
        self.replicate_part(name, args, arguments);
        self.replicated()
    }

    /// Replicates one of several commands that together make the change, as
    /// [`Change::replicate_before`]. [`Change::replicated`] follows the last.
    pub fn replicate_part<'b>(
        &self,
        name: &CStr,
        args: impl IntoIterator<Item = &'b [u8]>,
        arguments: Arguments<'_>,
    ) {
        self.open.context.replicate_before(name, self.open.name, args, arguments);
    }

    /// Declares the change replicated. Before that, replicates the expiry of a new key.
    pub fn replicated(self) -> Replicated<'a> {
        let Self { open, creation, .. } = self;
        if let Some(Creation { expiry: Some(time), .. }) = creation {
            // The expiry as an absolute time by this server's clock, as for SET and EXPIRE. It
            // comes last: a server that executes the commands again after that time then deletes
            // the key.
            let time = [ShortText::of(time)];
            let args = time.iter().map(ShortText::bytes);
            open.context.replicate_before(c"PEXPIREAT", open.name, args, Arguments::NONE);
        }
        Replicated { open, creation }
    }
}

impl Replicated<'_> {
    /// Closes the key, signals that it has changed, and publishes `event`.
    pub fn signal(self, event: &CStr) {
        let (context, name) = (self.open.context, self.open.name);
        self.end();
        context.signal_change(event, name);
    }

    /// Closes the key, and signals only its creation, if it was created: the command does nothing
    /// else, or clients see no other change.
    pub fn end(self) {
        let Open { context, name, key } = self.open;
        drop(key);
        if let Some(Creation { event, expiry }) = self.creation {
            context.signal_change(event, name);
            expiry.iter().for_each(|_| context.publish_expiry(name));
        }
    }

    /// Closes the key, and signals that it has changed, without an event, as when time changes it.
    pub fn signal_quietly(self) {
        let (context, name) = (self.open.context, self.open.name);
        self.end();
        context.signal_modified(name);
    }
}
