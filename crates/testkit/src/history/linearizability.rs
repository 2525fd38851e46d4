//! Decides whether a history is linearizable.

use super::operation::{Act, History, Operation};
use super::search::{Found, Step, search};
use super::timeline::Violation;
use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

/// The extent of a check by [`linearizable`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Keys. Each is checked separately, which suffices because linearizability is local.
    pub keys: usize,
    /// Operations. A test should require some, because a check of none shows nothing.
    pub operations: usize,
}

/// Decides whether every key is linearizable as a register that is absent at first: each operation takes effect at one moment between its
/// beginning and its end, and each read returns the last value written before that moment.
///
/// The algorithm is Wing and Gong's search with Lowe's cache of visited states. A write of unknown outcome may take effect at any moment
/// after its beginning, or never.
///
/// Errors: a key is not linearizable (the error shows the operation that no order reaches), or its search ran out of memory.
pub fn linearizable<V: Clone + Eq + Hash + Debug>(history: &History<V>) -> Result<Checked, Violation> {
    let mut checked = Checked::default();
    for (key, operations) in history.by_key() {
        checked.keys += 1;
        checked.operations += operations.len();
        let (steps, indexes) = steps(&operations);
        match search(&steps) {
            Found::Order => {}
            Found::Stuck(step) => {
                let what = "no order of these operations explains what was read; none gets past the marked one";
                return Err(Violation::new(what, &operations, indexes[step]));
            }
            Found::TooLarge(states) => {
                let what = format!(
                    "the history of key {key:?} is undecided after {states} states: record fewer operations per key"
                );
                return Err(Violation::undecided(key, what));
            }
        }
    }
    Ok(checked)
}

/// The operations in the form of the search, with their indexes. Values become small numbers; 0 is absent.
///
/// A write of unknown outcome whose value no read returned is omitted: a valid order without it exists whenever one with it does.
fn steps<V: Eq + Hash>(operations: &[&Operation<V>]) -> (Vec<Step>, Vec<usize>) {
    let read: HashSet<Option<&V>> = operations
        .iter()
        .filter_map(|operation| match &operation.act {
            Act::Read(value) => Some(value.as_ref()),
            Act::Write(_) => None,
        })
        .collect();
    let mut numbers: HashMap<&V, u32> = HashMap::new();
    let mut steps = Vec::new();
    let mut indexes = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        let (value, is_write) = match &operation.act {
            Act::Write(value) => (value.as_ref(), true),
            Act::Read(value) => (value.as_ref(), false),
        };
        if operation.returned.is_none() && !(is_write && read.contains(&value)) {
            continue;
        }
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX).saturating_add(1);
        let value = value.map_or(0, |value| *numbers.entry(value).or_insert(next));
        let returned = operation.returned.map(|returned| returned.order);
        steps.push(Step { invoked: operation.invoked.order, returned, value, is_write });
        indexes.push(index);
    }
    (steps, indexes)
}
