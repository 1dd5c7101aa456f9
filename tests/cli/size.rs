//! `splitbloom size`.

use crate::tool::{tool, Runs};

/// The words of the line that begins with this name.
fn row(text: &str, name: &str) -> Vec<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{text}"));
    // Columns are at least two spaces apart; groups of digits one.
    let words = line.split("  ").map(str::trim);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[test]
fn size_works_backwards_too() {
    let text = tool(&["size", "--memory", "64mb", "--error", "0.001"]).prints();
    assert!(text.starts_with("64 MiB take "), "{text}");
    let text = tool(&["size", "--memory", "64mb", "--items", "1e7"]).prints();
    assert!(text.starts_with("10 000 000 items in 64 MiB have an error rate of "), "{text}");
    let help = tool(&["size", "--help"]).prints();
    assert!(help.contains("64MiB = 64MB (of 1024) or 64M (of 1000)"), "{help}");
    let window = ["size", "--items", "1e6", "--error", "0.01", "--window", "3600"];
    assert_eq!(row(&tool(&window).prints(), "forgetting")[2], "-");
}

#[test]
fn size_needs_two_of_three() {
    let message = tool(&["size", "--items", "5"]).error(2);
    assert!(message.starts_with("give two of --items, --error and --memory"), "{message}");
    let message = tool(&["size", "--items", "1e9", "--memory", "1kb"]).error(2);
    assert_eq!(message, "so many items do not fit, whatever the error rate");
}
