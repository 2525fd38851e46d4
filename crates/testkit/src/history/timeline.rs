//! Formats a violation with the operations around it, one per line.

use super::operation::{Act, Operation};
use std::fmt::{self, Debug, Display, Write};

/// Operations shown before and after the violation.
const AROUND: usize = 15;
const COLUMNS: usize = 60;

/// A guarantee that a history violates. Its message names the guarantee, and shows the timeline of the key.
#[derive(Clone, PartialEq, Eq)]
pub struct Violation {
    /// The key of the violation.
    pub key: String,
    text: String,
}

impl Violation {
    /// `operations` are all operations on the key; the one at index `culprit` is marked.
    pub(super) fn new<V: Debug>(what: &str, operations: &[&Operation<V>], culprit: usize) -> Violation {
        let key = operations[culprit].key.clone();
        let text = format!("{what}\n{}", timeline(operations, culprit));
        Violation { key, text }
    }

    /// A guarantee that could not be checked.
    pub(super) fn undecided(key: &str, what: String) -> Violation {
        Violation { key: key.to_owned(), text: what }
    }
}

impl Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Like `Display`, because a failing `unwrap` prints this.
impl Debug for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for Violation {}

fn timeline<V: Debug>(operations: &[&Operation<V>], culprit: usize) -> String {
    let first = culprit.saturating_sub(AROUND);
    let last = operations.len().min(culprit + AROUND + 1);
    let shown = &operations[first..last];
    let mut moments: Vec<u64> = shown
        .iter()
        .flat_map(|operation| [Some(operation.invoked), operation.returned])
        .flatten()
        .map(|at| at.order)
        .collect();
    moments.sort_unstable();
    moments.dedup();
    let column = |order: u64| moments.partition_point(|moment| *moment < order) * (COLUMNS - 1) / moments.len().max(1);
    let origin = operations.iter().map(|operation| operation.invoked.nanoseconds).min().unwrap_or(0);

    let mut text = format!("key {:?}, {} of {} operations:\n", operations[culprit].key, shown.len(), operations.len());
    for (index, operation) in shown.iter().enumerate() {
        let mark = if first + index == culprit { '>' } else { ' ' };
        let from = column(operation.invoked.order);
        let to = operation.returned.map_or(COLUMNS - 1, |returned| column(returned.order));
        let end = if operation.returned.is_some() { '|' } else { '?' };
        let bar = format!("{}|{}{end}", " ".repeat(from), "-".repeat(to.saturating_sub(from)));
        let at = operation.invoked.nanoseconds.saturating_sub(origin) / 1000;
        let (process, act) = (operation.process, describe(&operation.act));
        writeln!(text, "{mark} {at:>9} us  p{process:<3} {act:<16} {bar}").ok();
    }
    text
}

fn describe<V: Debug>(act: &Act<V>) -> String {
    match act {
        Act::Write(Some(value)) => format!("write {value:?}"),
        Act::Write(None) => "delete".to_owned(),
        Act::Read(Some(value)) => format!("read = {value:?}"),
        Act::Read(None) => "read = absent".to_owned(),
    }
}
