//! A temporary key for a filter that is not complete yet.

use crate::slot_of;
use std::hash::{BuildHasher as _, RandomState};

/// An unused key in the slot of `key`. One candidate in 16384 is in that slot, which takes
/// milliseconds to find; with a hash tag in `key`, all of them are.
pub fn temporary_key(key: &[u8]) -> Vec<u8> {
    let first = RandomState::new().hash_one(std::process::id());
    let candidate = |number: u64| {
        let suffix = format!(":loading:{number:016x}");
        [key, suffix.as_bytes()].concat()
    };
    let (mut number, slot) = (first, slot_of(key));
    while slot_of(&candidate(number)) != slot {
        number = number.wrapping_add(1);
    }
    candidate(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_key_is_in_the_slot_of_its_key() {
        for key in ["users", "{users}:1", "a{b}c{d}", "a{b", "a}b", "{}a", "}{", ""] {
            let temporary = temporary_key(key.as_bytes());
            assert!(temporary.starts_with(key.as_bytes()) && temporary.len() > key.len());
            assert_eq!(slot_of(&temporary), slot_of(key.as_bytes()), "{key}");
        }
    }
}
