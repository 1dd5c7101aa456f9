//! The fields of a value that a module saves, as a server takes and returns them: one at a time.
//! Each is checked before the next is read, so an array is read only once its length is known.

/// The fields of a value, in order. Each is `None` at the end, or where the file is damaged.
pub trait Fields {
    /// A string.
    type String: AsRef<[u8]>;
    /// The next field, an unsigned number.
    fn unsigned(&mut self) -> Option<u64>;
    /// The next field, a signed number, which few values have.
    fn signed(&mut self) -> Option<i64> {
        None
    }
    /// The next field, a double.
    fn double(&mut self) -> Option<f64>;
    /// The next field, a string.
    fn string(&mut self) -> Option<Self::String>;
}

/// Takes the fields of a value, in order.
pub trait FieldSink {
    /// An unsigned number.
    fn unsigned(&mut self, value: u64);
    /// A signed number.
    fn signed(&mut self, value: i64);
    /// A double.
    fn double(&mut self, value: f64);
    /// A string.
    fn string(&mut self, value: &[u8]);
}

/// A field, for values that are at hand as a list.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// An unsigned number.
    Unsigned(u64),
    /// A signed number.
    Signed(i64),
    /// A double.
    Double(f64),
    /// A string.
    String(Vec<u8>),
}

impl Fields for std::vec::IntoIter<Field> {
    type String = Vec<u8>;

    fn unsigned(&mut self) -> Option<u64> {
        match self.next()? {
            Field::Unsigned(value) => Some(value),
            _ => None,
        }
    }

    fn signed(&mut self) -> Option<i64> {
        match self.next()? {
            Field::Signed(value) => Some(value),
            _ => None,
        }
    }

    fn double(&mut self) -> Option<f64> {
        match self.next()? {
            Field::Double(value) => Some(value),
            _ => None,
        }
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        match self.next()? {
            Field::String(value) => Some(value),
            _ => None,
        }
    }
}

impl FieldSink for Vec<Field> {
    fn unsigned(&mut self, value: u64) {
        self.push(Field::Unsigned(value));
    }

    fn signed(&mut self, value: i64) {
        self.push(Field::Signed(value));
    }

    fn double(&mut self, value: f64) {
        self.push(Field::Double(value));
    }

    fn string(&mut self, value: &[u8]) {
        self.push(Field::String(value.to_vec()));
    }
}
