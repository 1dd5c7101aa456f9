//! What the numbers depend on beside the code.

use std::fs;

/// The processor and its pages. With transparent huge pages always on, filters of one block would get pages of 2 MB unasked and
/// miss the translation caches less; splitbloom's segments of 64 KiB would get them only where they lie side by side.
pub fn description() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, model)| model);
    let huge = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let huge = huge.map_or("unknown".to_string(), |text| text.trim().to_string());
    format!("{model}; transparent huge pages: {huge}\n")
}
