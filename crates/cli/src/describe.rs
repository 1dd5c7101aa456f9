//! A filter of a file in the words of BF.INFO and CF.INFO.

use serde_json::{json, Value};
use splitbloom_filter::bloom::blocked_bloom::BlockedBloom;
use splitbloom_filter::table::Table;
use splitbloom_filter::{Filter, Kind, Window};

/// A filter's properties and its digest, which two filters share if and only if all their lookups
/// have equal results.
pub fn describe(filter: &Filter) -> Value {
    let (kind, mut report) = match (filter.kind(), filter.window()) {
        (Kind::Counting, _) => ("counting", counting(filter)),
        (_, Some(window)) => ("forgetting", windowed(filter, window)),
        _ => match filter.layers() {
            Some(layers) if layers.is_from_valkey() => {
                ("Bloom, from valkey-bloom", foreign(filter))
            }
            Some(_) => ("Bloom, from RedisBloom", foreign(filter)),
            None => ("Bloom", lasting(filter)),
        },
    };
    let digest = filter.digest();
    if let Value::Object(entries) = &mut report {
        entries.shift_insert(0, "Kind".into(), kind.into());
        entries.insert("Digest".into(), format!("{digest:032x}").into());
    }
    report
}

fn lasting(filter: &Filter) -> Value {
    let parameters = filter.parameters();
    let expansion = Some(parameters.growth.factor()).filter(|factor| *factor > 0);
    let shrunk = filter.if_shrunk();
    json!({
        "Capacity": filter.capacity(),
        "Size": filter.reserved_bytes(),
        "Number of filters": filter.num_parts(),
        "Number of items inserted": filter.items(),
        "Expansion rate": expansion,
        "Error rate": parameters.error_rate,
        "Expected false positive rate": filter.false_positive_rate(),
        "Estimated items": filter.estimated_items().round() as u64,
        "Fill": filter.fill_ratio(),
        "Bits per item": filter.num_bits() as f64 / filter.capacity() as f64,
        "Capacity if shrunk": shrunk.map(|shrunk| shrunk.capacity),
        "Size if shrunk": shrunk.map(|shrunk| shrunk.reserved_bytes),
        "Sub-filters": filter.bloom().into_iter().map(bloom).collect::<Value>(),
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

fn foreign(filter: &Filter) -> Value {
    json!({
        "Capacity": filter.capacity(),
        "Number of filters": filter.num_parts(),
        "Number of items inserted": filter.items(),
        "Error rate": filter.parameters().error_rate,
        "Expected false positive rate": filter.false_positive_rate(),
        "Fill": filter.fill_ratio(),
        "Table": filter.table().map(table),
    })
}

fn windowed(filter: &Filter, window: Window) -> Value {
    let parameters = filter.parameters();
    let now = filter.latest();
    json!({
        "Capacity": filter.capacity(),
        "Size": filter.reserved_bytes(),
        "Number of items inserted": filter.items_at(now),
        "Error rate": parameters.error_rate,
        "Expected false positive rate": filter.false_positive_rate_at(now),
        "Window": window.seconds(),
        "Slices": window.slices(),
        "Renew": window.renews(),
        "Latest time": now,
        "Items forgotten": filter.forgotten(),
        "Table": filter.table().map(table),
    })
}

fn counting(filter: &Filter) -> Value {
    let parameters = filter.counting_parameters();
    json!({
        "Size": filter.reserved_bytes(),
        "Number of items inserted": filter.items(),
        "Number of items deleted": filter.deleted(),
        "Expansion rate": parameters.expansion,
        "Capacity": parameters.capacity,
        "Error rate": parameters.error_rate,
        "Expected false positive rate": filter.false_positive_rate(),
        "Bits per item": filter.bits_per_item(0),
        "Pages": filter.pages(),
    })
}
