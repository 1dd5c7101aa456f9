//! The rounds of one workload, and what the tables show of them.

use super::workload::Measured;
use splitbloom_rig::statistics::median;

/// The rounds of one workload on one contender.
#[derive(Default)]
pub struct Series {
    pub throughput: Vec<f64>,
    in_command: Vec<f64>,
    pub busy: Vec<f64>,
}

impl Series {
    pub fn push(&mut self, measured: Measured) {
        self.throughput.push(measured.items_per_second / 1e6);
        self.in_command.push(measured.nanoseconds_in_command);
        self.busy.push(measured.server_busy);
    }

    /// Million items per second, nanoseconds in the command per item.
    pub fn cells(&self) -> [String; 2] {
        [format!("{:.2}", median(&self.throughput)), format!("{:.0}", median(&self.in_command))]
    }
}
