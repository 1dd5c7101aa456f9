//! Filters that forget: `BF.RESERVE … WINDOW`. Here times are given (`AT`) or real; tests/faults
//! sets the clock.

mod effects;
mod forgetting;
mod replies;

use splitbloom_harness::Connection;

/// The fields of BF.INFO FULL that depend on no clock but the one in the filter.
pub fn field(db: &mut Connection, key: &str, name: &str) -> String {
    db.run(&format!("BF.INFO {key} FULL")).field(name).to_string()
}
