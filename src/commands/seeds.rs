//! The seed is a secret: whoever has it can choose items that collide.

use crate::server::context::Context;

/// Hides what follows each SEED among `words`, of which the first is word `first` of the command.
pub fn hide_seeds(context: &Context, words: &[&[u8]], first: usize) {
    for (place, word) in words.iter().enumerate() {
        if word.eq_ignore_ascii_case(b"SEED") {
            context.redact(first + place + 1);
        }
    }
}
