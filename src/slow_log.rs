//! Keeps seeds out of the server's slow log. A seed is a secret: whoever has it can choose items
//! that collide.
//!
//! A seed among the arguments of a command is redacted. A filter that arrives whole has its seed
//! inside an argument. The slow log keeps the first bytes of each argument, and the module cannot
//! redact those of RESTORE or of a script. So the first [`LOGGED_BYTES`] of a chunk hold nothing of
//! the filter. Every server kept that many, until Redis 8.8 got a setting for the number.

use splitbloom_filter::codec::LOGGED_BYTES;
use splitbloom_server::context::Context;
use splitbloom_server::log::warn;
use splitbloom_server::settings;

const SETTING: &str = "slowlog-entry-max-string-len";

/// Redacts the argument after each SEED in `args`, which begin with argument `first` of the
/// command.
pub fn hide_seeds(context: &Context, args: &[&[u8]], first: usize) {
    for (index, arg) in args.iter().enumerate() {
        if arg.eq_ignore_ascii_case(b"SEED") {
            context.redact(first + index + 1);
        }
    }
}

/// The number of bytes of an argument that the slow log keeps.
pub fn argument_bytes() -> u64 {
    bytes_of(settings::of_server(SETTING))
}

/// The bytes that the slow log keeps, given the value of the setting.
fn bytes_of(setting: Option<i64>) -> u64 {
    let bytes = setting.and_then(|bytes| u64::try_from(bytes).ok());
    bytes.unwrap_or(LOGGED_BYTES as u64)
}

/// Logs a warning if the slow log keeps more than [`LOGGED_BYTES`], and so may show seeds.
pub fn warn_of_seeds() {
    let bytes = argument_bytes();
    if bytes > LOGGED_BYTES as u64 {
        warn(format_args!(
            "{SETTING} is {bytes}: the slow log shows seeds of filters in the arguments of RESTORE \
             and of scripts. With at most {LOGGED_BYTES} it does not"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_the_setting_keeps_as_much_as_the_filler_hides() {
        assert_eq!(bytes_of(None), 128);
        assert_eq!(bytes_of(Some(-1)), 128);
        assert_eq!(bytes_of(Some(1)), 1);
        assert_eq!(bytes_of(Some(4096)), 4096);
    }
}
