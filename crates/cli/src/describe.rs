//! A filter of a file in the words of BF.INFO and CF.INFO.

use crate::filter_file::Loaded;
use serde_json::{json, Value};
use splitbloom_filter::bloom::blocked_bloom::BlockedBloom;
use splitbloom_filter::table::Table;
use splitbloom_filter::{AnyFilter, CountingFilter, Filter, ForeignFilter, WindowedFilter};

/// What a filter is, and its digest: equal for two filters if and only if they answer alike.
pub fn describe(filter: &Loaded) -> Value {
    let (kind, mut report, digest) = match filter {
        Loaded::Bloom(any) => {
            let (kind, report) = match any {
                AnyFilter::Lasting(filter) => ("Bloom", lasting(filter)),
                AnyFilter::Foreign(one) => ("Bloom, from RedisBloom", foreign(&one[0])),
                AnyFilter::Windowed(timed) => ("forgetting", windowed(&timed[0].filter)),
            };
            (kind, report, any.digest())
        }
        Loaded::Counting(filter) => ("counting", counting(filter), filter.digest()),
    };
    if let Value::Object(entries) = &mut report {
        entries.shift_insert(0, "Kind".into(), kind.into());
        entries.insert("Digest".into(), format!("{digest:032x}").into());
    }
    report
}

fn lasting(filter: &Filter) -> Value {
    let parameters = filter.parameters();
    let expansion = Some(parameters.growth.factor()).filter(|factor| *factor > 0);
    json!({
        "Capacity": filter.capacity(),
        "Size": filter.reserved_bytes(),
        "Number of filters": filter.num_parts(),
        "Number of items inserted": filter.items(),
        "Expansion rate": expansion,
        "Error rate": parameters.error_rate,
        "Expected false positive rate": filter.expected_false_positive_rate(),
        "Estimated items": filter.estimated_items().round() as u64,
        "Fill": filter.fill_ratio(),
        "Bits per item": filter.num_bits() as f64 / filter.capacity() as f64,
        "Sub-filters": filter.blooms().iter().map(bloom).collect::<Value>(),
        "Table": filter.table().map(table),
    })
}

fn bloom(bloom: &BlockedBloom) -> Value {
    let header = bloom.header();
    json!({
        "Capacity": header.capacity,
        "Items": header.items,
        "Error rate": header.error_rate,
        "Sub-bitmap bytes": header.shape.sub_bitmap_bits / 8,
        "Hashes": header.shape.num_hashes,
        "Bytes": header.shape.num_bits() / 8,
        "Set bits": bloom.set_bits(),
        "Guard": bloom.fill().share_of_limit(),
    })
}

fn table(table: &Table) -> Value {
    json!({
        "Items": table.len(),
        "Expected false positive rate": table.false_positive_rate(),
        "Pages": table.pages(),
        "Bytes": table.bytes(),
    })
}

fn foreign(filter: &ForeignFilter) -> Value {
    json!({
        "Capacity": filter.capacity(),
        "Number of filters": filter.num_parts(),
        "Number of items inserted": filter.items(),
        "Error rate": filter.parameters().error_rate,
        "Expected false positive rate": filter.expected_false_positive_rate(),
        "Fill": filter.fill_ratio(),
        "Table": filter.table().map(table),
    })
}

fn windowed(filter: &WindowedFilter) -> Value {
    let parameters = filter.parameters();
    let (now, window) = (filter.latest(), filter.window());
    json!({
        "Capacity": filter.capacity(),
        "Size": filter.bytes(),
        "Number of items inserted": filter.items(now),
        "Error rate": parameters.error_rate,
        "Expected false positive rate": filter.false_positive_rate(now),
        "Window": window.seconds(),
        "Slices": window.slices(),
        "Renew": window.renews(),
        "Latest time": now,
        "Items forgotten": filter.forgotten(),
        "Table": filter.table().map(table),
    })
}

fn counting(filter: &CountingFilter) -> Value {
    let parameters = filter.parameters();
    json!({
        "Size": filter.bytes(),
        "Number of items inserted": filter.items(),
        "Number of items deleted": filter.deleted(),
        "Expansion rate": parameters.expansion,
        "Capacity": parameters.capacity,
        "Error rate": parameters.error_rate,
        "Expected false positive rate": filter.false_positive_rate(),
        "Bits per item": filter.bits_per_item(),
        "Pages": filter.pages(),
    })
}
