//! A value that the owner of another attaches to it, of a type that only the owner knows.

use crate::alloc::try_boxed_one;
use std::alloc::Layout;
use std::any::Any;
use std::fmt;

/// At most one value, which is not part of its holder: all attachments compare equal, and a copy of
/// the holder begins without one.
#[derive(Default)]
pub struct Attachment(Option<Box<dyn Any + Send + Sync>>);

impl Attachment {
    /// The value, if it is of type `T`; a new one, memory permitting, if nothing is attached yet.
    pub fn get<T: Any + Default + Send + Sync>(&mut self) -> Option<&mut T> {
        if self.0.is_none() {
            let one: Box<[T; 1]> = try_boxed_one(T::default()).ok()?;
            self.0 = Some(one);
        }
        let one = self.0.as_mut()?.downcast_mut::<[T; 1]>();
        one.map(|[one]| one)
    }

    /// The layout of its allocation, if it has one.
    pub fn layout(&self) -> Option<Layout> {
        self.0.as_ref().map(|one| Layout::for_value(&**one))
    }
}

impl PartialEq for Attachment {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Attachment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Attachment")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attachment_begins_as_the_default_and_stays_what_it_is() {
        let mut attachment = Attachment::default();
        assert_eq!(attachment.layout(), None);
        *attachment.get::<u32>().unwrap() += 7;
        assert_eq!(attachment.get::<u32>(), Some(&mut 7));
        assert_eq!(attachment.get::<u64>(), None, "its owner has one type");
        assert_eq!(attachment.layout(), Some(Layout::new::<u32>()));
    }
}
