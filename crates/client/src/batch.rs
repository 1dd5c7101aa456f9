//! Groups items by partition, and puts the answers back into the order of the items.

use super::{Answer, Error};
use redis::Value;
use splitbloom_partition::Partitions;

/// The items of a batch that belong to one partition.
#[derive(Debug, PartialEq)]
pub(super) struct Group<'a> {
    pub partition: u16,
    /// In the order of the batch.
    pub items: Vec<&'a [u8]>,
    /// The index of each in the batch.
    places: Vec<usize>,
}

/// Groups the items; each group keeps their order.
pub(super) fn by_partition<I: AsRef<[u8]>>(items: &[I], partitions: Partitions) -> Vec<Group<'_>> {
    let of: Vec<u16> = items.iter().map(|item| partitions.of(item.as_ref())).collect();
    let mut places: Vec<usize> = (0..items.len()).collect();
    places.sort_by_key(|place| of[*place]); // stable
    let groups = places.chunk_by(|one, next| of[*one] == of[*next]);
    let group = |places: &[usize]| Group {
        partition: of[places[0]],
        items: places.iter().map(|place| items[*place].as_ref()).collect(),
        places: places.to_vec(),
    };
    groups.map(group).collect()
}

/// Returns the answers in the order of the batch, given the replies to the groups.
pub(super) fn in_order(groups: &[Group<'_>], replies: Vec<Result<Value, Error>>) -> Vec<Answer> {
    let len = groups.iter().map(|group| group.places.len()).sum();
    let mut answers = vec![Err(Error::NotTried); len];
    for (group, reply) in groups.iter().zip(replies) {
        match reply {
            // An array shorter than its group ends with an error: the rest was not tried.
            Ok(Value::Array(elements)) => {
                for (place, element) in group.places.iter().zip(&elements) {
                    answers[*place] = answer(element);
                }
            }
            Ok(other) => fill(&mut answers, group, Error::Unexpected(format!("{other:?}"))),
            Err(error) => fill(&mut answers, group, error),
        }
    }
    answers
}

fn fill(answers: &mut [Answer], group: &Group<'_>, error: Error) {
    for place in &group.places {
        answers[*place] = Err(error.clone());
    }
}

/// One answer: a boolean, or an integer in RESP2.
pub(super) fn answer(value: &Value) -> Answer {
    match value {
        Value::Int(number @ (0 | 1)) => Ok(*number == 1),
        Value::Boolean(value) => Ok(*value),
        Value::ServerError(error) => Err(error.into()),
        other => Err(Error::Unexpected(format!("{other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REFUSAL: &str = "ERR non scaling filter is full";

    fn refusal() -> Value {
        redis::parse_redis_value(format!("*1\r\n-{REFUSAL}\r\n").as_bytes())
            .map(|array| match array {
                Value::Array(mut elements) => elements.remove(0),
                other => other,
            })
            .expect("a reply")
    }

    #[test]
    fn an_array_that_ends_with_an_error_leaves_the_rest_untried() {
        let items = ["a", "b", "c", "d"];
        let groups = by_partition(&items, Partitions::new(1).unwrap());
        let array = Value::Array(vec![Value::Int(1), Value::Boolean(false), refusal()]);
        let answers = in_order(&groups, vec![Ok(array)]);
        assert!(matches!(answers[..2], [Ok(true), Ok(false)]));
        assert!(matches!(&answers[2], Err(Error::Refused(words)) if words == REFUSAL));
        assert!(matches!(answers[3], Err(Error::NotTried)));
    }

    #[test]
    fn an_error_from_a_partition_is_the_answer_for_each_of_its_items() {
        let items = ["a", "b"];
        let groups = by_partition(&items, Partitions::new(1).unwrap());
        let answers = in_order(&groups, vec![Err(Error::Refused("NOPERM".to_owned()))]);
        assert!(answers.iter().all(|answer| matches!(answer, Err(Error::Refused(_)))));
        let answers = in_order(&groups, vec![Ok(Value::Okay)]);
        assert!(answers.iter().all(|answer| matches!(answer, Err(Error::Unexpected(_)))));
    }

    proptest! {
        #[test]
        fn answers_come_in_the_order_of_the_items(
            items in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..200),
            power in 0..15_u32,
        ) {
            let partitions = Partitions::new(1 << power).unwrap();
            let groups = by_partition(&items, partitions);
            // The answer for an item is the low bit of its first byte.
            let bit = |item: &[u8]| item.first().is_some_and(|byte| byte % 2 == 1);
            let replies = groups.iter().map(|group| {
                assert!(group.items.iter().all(|item| partitions.of(item) == group.partition));
                Ok(Value::Array(group.items.iter().map(|item| Value::Boolean(bit(item))).collect()))
            });
            let answers = in_order(&groups, replies.collect()).into_iter();
            let answers: Vec<bool> = answers.map(Result::unwrap).collect();
            prop_assert_eq!(answers, items.iter().map(|item| bit(item)).collect::<Vec<_>>());
            let mut numbers: Vec<u16> = groups.iter().map(|group| group.partition).collect();
            numbers.dedup();
            prop_assert_eq!(numbers.len(), groups.len(), "one command a partition");
        }
    }
}
