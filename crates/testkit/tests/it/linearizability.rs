//! The linearizability checker on histories whose verdict is known, and against trying every order.

use proptest::prelude::*;
use testkit::history::{Act, EventTime, History, Operation, linearizable};

type Value = Option<u8>;

const fn at(order: u64) -> EventTime {
    EventTime { order, nanoseconds: order * 1000 }
}

fn operation(act: Act<u8>, invoked: u64, returned: Option<u64>) -> Operation<u8> {
    Operation { process: invoked, key: "k".into(), act, invoked: at(invoked), returned: returned.map(at) }
}

fn write(value: u8, invoked: u64, returned: impl Into<Option<u64>>) -> Operation<u8> {
    operation(Act::Write(Some(value)), invoked, returned.into())
}

fn read(value: impl Into<Value>, invoked: u64, returned: u64) -> Operation<u8> {
    operation(Act::Read(value.into()), invoked, Some(returned))
}

fn verdict(operations: Vec<Operation<u8>>) -> bool {
    linearizable(&History(operations)).is_ok()
}

#[test]
fn concurrent_reads_may_see_either_side_of_a_write() {
    assert!(verdict(vec![write(1, 0, 10), read(None, 1, 2), read(1, 3, 4)]));
}

#[test]
fn old_value_is_invalid_after_a_read_of_the_new_one() {
    assert!(!verdict(vec![write(1, 0, 10), read(1, 1, 2), read(None, 3, 4)]));
}

#[test]
fn stale_read_is_shown_with_its_timeline() {
    let history = History(vec![write(1, 0, 1), write(2, 2, 3), read(1, 4, 5), write(3, 6, 7)]);
    let violation = linearizable(&history).unwrap_err();
    assert_eq!(violation.key, "k");
    let text = violation.to_string();
    assert!(text.lines().any(|line| line.starts_with('>') && line.contains("read = 1")), "{text}");
    assert_eq!(text.lines().count(), 2 + 4, "{text}");
    assert_eq!(format!("{violation:?}"), text, "what a failing unwrap prints");
}

#[test]
fn lost_update_is_found() {
    assert!(!verdict(vec![write(1, 0, 1), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7), read(1, 8, 9)]));
}

#[test]
fn unwritten_value_is_found() {
    assert!(!verdict(vec![write(1, 0, 5), read(9, 1, 2)]));
}

#[test]
fn deletion_is_a_write_of_absence() {
    let delete = operation(Act::Write(None), 2, Some(3));
    assert!(verdict(vec![write(1, 0, 1), delete.clone(), read(None, 4, 5)]));
    assert!(!verdict(vec![write(1, 0, 1), delete, read(1, 4, 5)]));
}

#[test]
fn unknown_write_may_happen_late_or_never_but_once() {
    assert!(verdict(vec![write(1, 0, 1), write(2, 2, None), read(1, 3, 4), read(1, 5, 6)]), "never");
    assert!(verdict(vec![write(1, 0, 1), write(2, 2, None), read(1, 3, 4), read(2, 50, 60)]), "late");
    assert!(!verdict(vec![write(2, 2, None), read(2, 3, 4), write(1, 5, 6), read(2, 7, 8)]), "twice");
    assert!(!verdict(vec![read(2, 0, 1), write(2, 2, None)]), "not before it began");
}

#[test]
fn simultaneous_moments_count_as_concurrent() {
    assert!(verdict(vec![write(1, 0, 5), read(None, 5, 6)]));
    assert!(!verdict(vec![write(1, 0, 5), read(None, 6, 7)]));
}

#[test]
fn keys_are_independent_registers() {
    let other = Operation { key: "other".into(), ..read(None, 4, 5) };
    let checked = linearizable(&History(vec![write(1, 0, 1), other, read(1, 6, 7)])).unwrap();
    assert_eq!((checked.keys, checked.operations), (2, 3));
}

/// Without memory of visited states, and with one state per set of unknown writes, this would take longer than the universe.
#[test]
fn long_histories_with_many_unknown_writes_are_decided() {
    let mut operations = Vec::new();
    for round in 0..5_000_u64 {
        let (start, value) = (round * 10, u8::try_from(round % 250).unwrap());
        operations.push(write(value, start, start + 5));
        operations.push(write(251, start + 1, None));
        operations.extend((0..4).map(|_| read(value, start + 6, start + 9)));
    }
    assert!(verdict(operations.clone()));
    operations.push(read(252, 25_000, 25_005));
    assert!(!verdict(operations));
}

/// Every order of every choice of unknown writes, one by one: too slow for anything but the truth about tiny histories.
fn brute_force(operations: &[Operation<u8>]) -> bool {
    fn explained(left: &[&Operation<u8>], value: Value) -> bool {
        if left.iter().all(|operation| operation.returned.is_none()) {
            return true;
        }
        (0..left.len()).any(|chosen| {
            let operation = left[chosen];
            let others: Vec<_> =
                left.iter().copied().enumerate().filter(|(i, _)| *i != chosen).map(|(_, o)| o).collect();
            let first = !others.iter().any(|other| other.precedes(operation));
            let after = match operation.act {
                Act::Write(written) => Some(written),
                Act::Read(seen) => (seen == value).then_some(value),
            };
            first && after.is_some_and(|after| explained(&others, after))
        })
    }
    explained(&operations.iter().collect::<Vec<_>>(), None)
}

fn any_operation() -> impl Strategy<Value = Operation<u8>> {
    let value = proptest::option::of(0_u8..3);
    (any::<bool>(), value, 0_u64..12, 0_u64..6, 0_u8..5).prop_map(|(is_write, value, invoked, length, outcome)| {
        let act = if is_write { Act::Write(value) } else { Act::Read(value) };
        let known = !is_write || outcome > 0;
        operation(act, invoked, known.then_some(invoked + length))
    })
}

/// A history of a real register: each operation takes effect at a moment inside its interval, reads return what is there.
fn honest(plans: Vec<(bool, Value, u64, u64, u64, bool)>) -> Vec<Operation<u8>> {
    let mut plans: Vec<_> = plans
        .into_iter()
        .map(|(is_write, value, invoked, until_effect, until_return, known)| {
            (invoked + until_effect, invoked, invoked + until_effect + until_return, is_write, value, known)
        })
        .collect();
    plans.sort_by_key(|plan| plan.0);
    let mut register = None;
    let take_effect = |(_, invoked, returned, is_write, value, known): (u64, u64, u64, bool, Value, bool)| {
        if is_write {
            register = value;
            operation(Act::Write(value), invoked, known.then_some(returned))
        } else {
            operation(Act::Read(register), invoked, Some(returned))
        }
    };
    plans.into_iter().map(take_effect).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn verdict_on_tiny_histories_equals_brute_force(operations in proptest::collection::vec(any_operation(), 0..7)) {
        prop_assert_eq!(verdict(operations.clone()), brute_force(&operations));
    }
}

proptest! {
    #[test]
    fn histories_of_a_real_register_are_accepted(
        plans in proptest::collection::vec(
            (any::<bool>(), proptest::option::of(0_u8..20), 0_u64..400, 0_u64..30, 0_u64..30, any::<bool>()),
            0..200,
        )
    ) {
        let operations = honest(plans);
        if let Err(violation) = linearizable(&History(operations)) {
            return Err(TestCaseError::fail(violation.to_string()));
        }
    }
}
