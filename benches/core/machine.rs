//! What the results depend on besides the code.

use std::fs;

/// The CPU and its huge-page setting. With transparent huge pages always on, filters in one
/// allocation get 2 MB pages unasked and miss the TLB less often; splitbloom's 64 KiB segments get
/// them only where they are adjacent.
pub fn description() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown CPU", |(_, model)| model);
    let huge = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let huge = huge.map_or("unknown".to_string(), |text| text.trim().to_string());
    format!("{model}; transparent huge pages: {huge}\n")
}
