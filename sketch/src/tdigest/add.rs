//! TDIGEST.ADD.

use super::value::StoredDigest;
use crate::errors::tdigest::{BAD_NUMBER, MISSING, NOT_FINITE, NO_MEMORY};
use crate::errors::ReplyError;
use splitbloom_foundation::number::parse_double;
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::ration::Ration;

pub const ADD: Command<ReplyError> = Command {
    name: c"tdigest.add",
    arity: -3,
    summary: c"Adds numbers to a t-digest",
    complexity: c"O(N*log(C)) with N numbers and a capacity of C nodes",
    parameters: &[Parameter::KEY, Parameter::new(c"value", Kind::Double, Times::OnceOrMore)],
    run: add,
    ..Command::WRITE
};

/// The number of values that are kept on the stack.
const FEW: usize = 8;

fn add(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let mut target = context.existing::<StoredDigest>(arguments.at(1))?.ok_or(MISSING)?;
    let words = arguments.bytes_from(2);
    let ration = Ration::begin(context);
    let (mut few, mut many) = ([0.0; FEW], None);
    let numbers = match few.get_mut(..words.len()) {
        Some(few) => few,
        None => {
            let many = many.insert(try_vec(words.len()).ok_or_else(|| NO_MEMORY.within(&ration))?);
            many.resize(words.len(), 0.0);
            &mut many[..]
        }
    };
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = parse_double(word).ok_or(BAD_NUMBER)?;
        if number.is_infinite() {
            return Err(NOT_FINITE);
        }
    }
    let added = target.value_mut().sketch_mut().add(numbers);
    added.map_err(|error| ReplyError::from(error).within(&ration))?;
    drop(ration);
    target.settle().replicate_verbatim().signal(c"tdigest.add");
    context.reply_ok();
    Ok(())
}
