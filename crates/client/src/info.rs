//! BF.INFO, summed over the partitions.

use super::Error;
use redis::Value;

/// A partitioned filter, described as BF.INFO describes one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The capacity of all partitions together. One of them may be full before the sum is reached.
    pub capacity: u64,
    /// Bytes of memory that the partitions take.
    pub bytes: u64,
    /// Sub-filters and tables of the partitions.
    pub sub_filters: u64,
    /// Items that were new when they were added.
    pub items: u64,
}

impl Info {
    /// Adds a partition's reply to BF.INFO.
    pub(super) fn add(&mut self, reply: &Value) -> Result<(), Error> {
        let field = |name| {
            let value = number_of(reply, name);
            value.ok_or_else(|| Error::Unexpected(format!("no {name} in {reply:?}")))
        };
        let add = |sum: &mut u64, name| field(name).map(|value| *sum = sum.saturating_add(value));
        add(&mut self.capacity, "Capacity")?;
        add(&mut self.bytes, "Size")?;
        add(&mut self.sub_filters, "Number of filters")?;
        add(&mut self.items, "Number of items inserted")?;
        Ok(())
    }
}

/// A number by its name in a reply to BF.INFO or CF.INFO.
#[doc(hidden)]
pub fn number_of(reply: &Value, name: &str) -> Option<u64> {
    match value_of(reply, name) {
        Some(Value::Int(number)) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// A value by its name: in a map, or in the flat array that RESP2 has instead.
#[doc(hidden)]
pub fn value_of<'a>(reply: &'a Value, name: &str) -> Option<&'a Value> {
    let is_it = |text: &Value| match text {
        Value::BulkString(bytes) => bytes == name.as_bytes(),
        Value::SimpleString(text) => text == name,
        _ => false,
    };
    match reply {
        Value::Map(pairs) => pairs.iter().find(|(key, _)| is_it(key)).map(|(_, value)| value),
        Value::Array(flat) => {
            flat.chunks(2).find(|pair| is_it(&pair[0])).and_then(|pair| pair.get(1))
        }
        _ => None,
    }
}
