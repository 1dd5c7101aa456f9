//! A filter described: as JSON, and from that for people.

use redis::{from_redis_value_ref, Value as Reply};
use serde_json::Value;
use std::fmt::{Display, Write};

/// A reply as JSON. Names keep their order.
pub fn from_reply(reply: &Reply) -> Value {
    match reply {
        Reply::Int(number) => (*number).into(),
        Reply::Double(number) => (*number).into(),
        Reply::Boolean(answer) => (*answer).into(),
        Reply::BulkString(bytes) => String::from_utf8_lossy(bytes).into(),
        Reply::SimpleString(text) => text.as_str().into(),
        Reply::Array(values) | Reply::Set(values) => values.iter().map(from_reply).collect(),
        Reply::Map(pairs) => {
            let pairs = pairs.iter().map(|(name, value)| (text(name), from_reply(value)));
            Value::Object(pairs.collect())
        }
        _ => Value::Null,
    }
}

/// A reply that should be a text.
pub fn text(reply: &Reply) -> String {
    from_redis_value_ref(reply).unwrap_or_else(|_| format!("{reply:?}"))
}

/// Formats `report` as lines of names and values; nested values are indented.
pub fn for_people(report: &Value) -> String {
    let mut lines = String::new();
    write_lines(report, 0, &mut lines);
    lines
}

fn write_lines(report: &Value, depth: usize, lines: &mut String) {
    let Value::Object(entries) = report else {
        return;
    };
    let width = entries.keys().map(|name| name.chars().count()).max();
    let width = width.unwrap_or_default();
    let indent = 2 * depth;
    for (name, value) in entries {
        let values = match value {
            Value::Array(values) if values.iter().any(Value::is_object) => values.as_slice(),
            Value::Object(_) => std::slice::from_ref(value),
            plain => {
                let plain = in_words(plain);
                // Writing to a string never fails.
                let _ = writeln!(lines, "{:indent$}{name:width$}  {plain}", "");
                continue;
            }
        };
        for value in values {
            let _ = writeln!(lines, "{:indent$}{name}", "");
            write_lines(value, depth + 1, lines);
        }
    }
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(share) if number.is_f64() => rounded(share),
            _ => with_spaces(number),
        },
        Value::Array(values) => {
            let words: Vec<String> = values.iter().map(in_words).collect();
            words.join(", ")
        }
        Value::Object(_) => String::new(),
    }
}

/// Formats `number` with four significant digits; below a million, with all integer digits.
pub fn rounded(number: f64) -> String {
    // As the shortest text that is this number.
    let shortest = |text: String| text.parse().unwrap_or(number);
    match number.abs() {
        0.0 => "0".into(),
        magnitude @ 1e-4..1e6 => {
            let digits = 3 - magnitude.log10().floor() as i32;
            shortest(format!("{number:.*}", digits.max(0) as usize)).to_string()
        }
        _ => format!("{:e}", shortest(format!("{number:.3e}"))),
    }
}

/// Formats `number` in groups of three digits, unless it has at most four.
pub fn with_spaces(number: impl Display) -> String {
    let digits = number.to_string();
    if digits.len() <= 4 {
        return digits;
    }
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        for (number, text) in [
            (0.0, "0"),
            (0.01, "0.01"),
            (0.009_985_4, "0.009985"),
            (9.585_1, "9.585"),
            (1e-9, "1e-9"),
            (1.2996e-5, "1.3e-5"),
            (123_456.7, "123457"),
        ] {
            assert_eq!(rounded(number), text);
        }
        for (digits, text) in [("7", "7"), ("6000", "6000"), ("258797", "258 797")] {
            assert_eq!(with_spaces(digits), text);
        }
    }

    #[test]
    fn what_is_part_of_something_is_indented() {
        let report = serde_json::json!({
            "Capacity": 20000, "Expansion rate": null, "Sub-filters": [{"Hashes": 6}],
        });
        let lines = "Capacity        20 000\nExpansion rate  -\nSub-filters\n  Hashes  6\n";
        assert_eq!(for_people(&report), lines);
    }
}
