//! BF.DEBUG: describes a filter to people as RedisBloom does, a line for each sub-filter. Programs
//! use BF.INFO.

use super::parameters::KEY;
use crate::commands::reply_error::ReplyError;
use crate::commands::FIRST_RELEASE;
use crate::server::arguments::Arguments;
use crate::server::command::{Command, KeyAccess, Specification};
use crate::server::context::Context;
use crate::server::key::Held;
use crate::types::bloom::StoredFilter;
use splitbloom_filter::bloom::blocked_bloom::BlockedBloom;
use splitbloom_filter::Filter;

/// BF.DEBUG.
pub struct Debug;

/// Sub-filters that get a line. A filter that doubles has 41 once the newest has the largest
/// capacity, 2^40 items; with EXPANSION 1 it may have thousands, which nobody reads. A line has
/// fewer than 150 bytes, so a reply has fewer than 150 kB.
const MAX_LINES: usize = 1000;

/// Bits of the hash that select an item's bits in its sub-bitmap. RedisBloom writes 64 or 32 here.
const HASH_WIDTH: u32 = 64;

impl Command for Debug {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.debug",
        arity: 2,
        flags: c"readonly fast",
        categories: "read fast",
        access: KeyAccess::Read,
        since: FIRST_RELEASE,
        summary: c"Describes the sub-filters of a Bloom filter in lines for people to read",
        complexity: c"O(S) with S sub-filters, of which at most 1000 are described",
        parameters: &[KEY],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let key = context.open_to_read(arguments.at(1));
        match key.held::<StoredFilter>() {
            Held::Other => ReplyError::WrongType.reply(context),
            Held::Nothing => ReplyError::NotFound.reply(context),
            Held::Value(stored) => {
                let lines = lines(stored.filter(), MAX_LINES);
                context.reply_array(lines.len());
                for line in lines {
                    context.reply_bytes(line.as_bytes());
                }
            }
        }
    }
}

/// The number of items, then the sub-filters, oldest first. Of more than `max`, the newest, after
/// the number of those left out.
fn lines(filter: &Filter, max: usize) -> Vec<String> {
    let sub_filters = filter.sub_filters();
    let (left_out, shown) = sub_filters.split_at(sub_filters.len().saturating_sub(max));
    let mut lines = vec![format!("size:{}", filter.items())];
    if !left_out.is_empty() {
        lines.push(format!("older sub-filters left out:{}", left_out.len()));
    }
    lines.extend(shown.iter().map(line));
    lines
}

fn line(sub_filter: &BlockedBloom) -> String {
    let header = sub_filter.header();
    let bits = sub_filter.num_bits();
    format!(
        "bytes:{} bits:{bits} hashes:{} hashwidth:{HASH_WIDTH} capacity:{} size:{} ratio:{}",
        bits / 8,
        header.shape.num_hashes,
        header.capacity,
        header.items,
        six_digits(header.error_rate),
    )
}

/// Six significant digits, as C's `%g` writes them.
fn six_digits(value: f64) -> String {
    let rounded = format!("{value:.5e}");
    rounded.parse().unwrap_or(value).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitbloom_filter::filter::{Growth, Parameters, SizeLimit};
    use splitbloom_filter::hash::Seed;

    #[test]
    fn only_the_newest_of_many_sub_filters_are_shown_and_the_others_counted() {
        let parameters = Parameters {
            error_rate: 0.01,
            capacity: 100,
            growth: Growth::Times(1),
            seed: Seed(7),
        };
        let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
        let mut item = 0u64;
        while filter.sub_filters().len() < 12 {
            let added = filter.add(&item.to_le_bytes(), SizeLimit::Unlimited);
            added.unwrap();
            item += 1;
        }
        let all = lines(&filter, 12);
        assert_eq!(all.len(), 13);
        let some = lines(&filter, 5);
        assert_eq!(some[0], all[0]);
        assert_eq!(some[1], "older sub-filters left out:7");
        assert_eq!(some[2..], all[8..]);
    }

    #[test]
    fn a_ratio_has_six_significant_digits() {
        for (value, text) in [
            (0.01, "0.01"),
            (0.01 * 2.0 / 3.0, "0.00666667"),
            (1e-9, "0.000000001"),
            (0.999, "0.999"),
        ] {
            assert_eq!(six_digits(value), text);
        }
    }
}
