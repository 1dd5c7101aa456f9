//! Reads the fields of a saved sketch, and says what is wrong with them.

use crate::error::DecodeError;
use splitbloom_foundation::fields::Fields;
use splitbloom_foundation::span::Span;

/// The next field, an unsigned number.
pub(crate) fn unsigned(fields: &mut impl Fields) -> Result<u64, DecodeError> {
    fields.unsigned().ok_or(DecodeError::Length)
}

/// The next field, an unsigned number that must fit a smaller type. `name` is the field's.
pub(crate) fn narrow<T: TryFrom<u64>>(
    fields: &mut impl Fields,
    name: &'static str,
) -> Result<T, DecodeError> {
    unsigned(fields)?.try_into().map_err(|_| DecodeError::Field(name))
}

/// The next field, a double.
pub(crate) fn double(fields: &mut impl Fields) -> Result<f64, DecodeError> {
    fields.double().ok_or(DecodeError::Length)
}

/// The next field, a string.
pub(crate) fn string<F: Fields>(fields: &mut F) -> Result<F::String, DecodeError> {
    fields.string().ok_or(DecodeError::Length)
}

/// The next two fields, the seconds and the slices of a window.
pub(crate) fn span(fields: &mut impl Fields) -> Result<Span, DecodeError> {
    const NAME: &str = "the window";
    let (seconds, slices) = (narrow(fields, NAME)?, narrow(fields, NAME)?);
    Span::new(seconds, slices).ok_or(DecodeError::Field(NAME))
}

/// Checks that the field called `name` is sound.
pub(crate) fn check(name: &'static str, is_sound: bool) -> Result<(), DecodeError> {
    is_sound.then_some(()).ok_or(DecodeError::Field(name))
}
