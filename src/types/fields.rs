//! The fields of a value that another module saved.

use crate::server::data_type::{Loaded, RdbSource};
use splitbloom_filter::foreign::Fields;

impl Fields for RdbSource {
    type String = Loaded;

    fn unsigned(&mut self) -> Option<u64> {
        self.load_unsigned()
    }

    fn double(&mut self) -> Option<f64> {
        self.load_double()
    }

    fn string(&mut self) -> Option<Loaded> {
        self.load_string()
    }
}
