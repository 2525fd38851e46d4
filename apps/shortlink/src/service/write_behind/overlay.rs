//! [`Overlay`]: links with the pending writes of this instance applied, so that the instance shows what it has accepted.

use crate::domain::{Decision, Link, Operation, PendingWrite};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The state of a link with pending writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// The link after the pending writes; `None` if they delete it.
    Known(Option<Box<Link>>),
    /// The link in the database is unknown; these changes are applied to it, in this order.
    Changes(Vec<PendingWrite>),
}

/// The links with pending writes.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    /// The number of entries: the common case of none takes no lock.
    count: AtomicUsize,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_code: HashMap<String, Entry>,
    /// The writes up to this sequence are no longer pending.
    removed: u64,
}

#[derive(Debug)]
struct Entry {
    pending: Pending,
    version: i64,
    /// The sequence of its last write.
    sequence: u64,
}

impl Overlay {
    /// The state of the link and the version of its last pending write; `None` if it has none.
    pub(super) fn get(&self, code: &str) -> Option<(Pending, i64)> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.entries.lock().by_code.get(code).map(|entry| (entry.pending.clone(), entry.version))
    }

    /// Whether the link has pending writes.
    pub(super) fn has(&self, code: &str) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.entries.lock().by_code.contains_key(code)
    }

    /// Adds a pending write. `base` is the link before it, if known.
    pub(super) fn put(&self, sequence: u64, write: &PendingWrite, base: Option<Option<Link>>) {
        let mut entries = self.entries.lock();
        if sequence <= entries.removed {
            return;
        }
        let earlier = entries.by_code.remove(write.code.as_str()).map(|entry| entry.pending);
        let earlier = earlier.or_else(|| base.map(|base| Pending::Known(base.map(Box::new))));
        let entry = Entry { pending: after(earlier, write), version: write.version, sequence };
        entries.by_code.insert(write.code.to_string(), entry);
        self.count.store(entries.by_code.len(), Ordering::Release);
    }

    /// Removes the writes up to this sequence: they are in the database.
    pub(super) fn remove_up_to(&self, sequence: u64) {
        let mut entries = self.entries.lock();
        entries.removed = entries.removed.max(sequence);
        entries.by_code.retain(|_, entry| entry.sequence > sequence);
        self.count.store(entries.by_code.len(), Ordering::Release);
    }
}

/// The state after one more write.
fn after(earlier: Option<Pending>, write: &PendingWrite) -> Pending {
    match (earlier, &write.operation) {
        (Some(Pending::Known(link)), _) => Pending::Known(applied(link, write)),
        // The result does not depend on the unknown link.
        (_, Operation::Create { .. } | Operation::Delete { .. }) => Pending::Known(applied(None, write)),
        (Some(Pending::Changes(mut changes)), Operation::Change { .. }) => {
            changes.push(write.clone());
            Pending::Changes(changes)
        }
        (None, Operation::Change { .. }) => Pending::Changes(vec![write.clone()]),
    }
}

/// The link after a write; a write that conflicts leaves it unchanged.
pub(super) fn applied(link: Option<Box<Link>>, write: &PendingWrite) -> Option<Box<Link>> {
    match write.decide(link.as_deref()) {
        Decision::Insert(link) | Decision::Update { link, .. } => Some(Box::new(link)),
        Decision::Delete => None,
        Decision::Nothing | Decision::Conflict(_) => link,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;
    use crate::domain::{Code, LinkPatch, Target};
    use jiff::Timestamp;

    fn write(version: i64, operation: Operation) -> PendingWrite {
        let at = Timestamp::from_second(version).unwrap();
        PendingWrite { code: Code::alias("x").unwrap(), version, at, made_at: None, operation }
    }

    fn create(version: i64) -> PendingWrite {
        let target = Target::stored("https://example.com/".to_owned());
        write(version, Operation::Create { target, alias: true, expires_at: None })
    }

    fn ban(version: i64) -> PendingWrite {
        let patch = LinkPatch { banned: Some(true), ..LinkPatch::default() };
        write(version, Operation::Change { patch, expected: None })
    }

    #[test]
    fn overlay_shows_last_write_until_it_is_applied() {
        let overlay = Overlay::default();
        overlay.put(1, &create(1), None);
        overlay.put(2, &ban(2), None);
        let Some((Pending::Known(Some(link)), 2)) = overlay.get("x") else { unreachable!() };
        assert!(link.banned);
        overlay.remove_up_to(1);
        assert!(overlay.has("x"), "its last write is still pending");
        overlay.remove_up_to(2);
        assert!(!overlay.has("x"));
        overlay.put(2, &ban(2), None);
        assert!(!overlay.has("x"), "it was applied before it was added to the overlay");
    }

    #[test]
    fn changes_of_unknown_link_keep_their_order() {
        let overlay = Overlay::default();
        overlay.put(1, &ban(5), None);
        overlay.put(2, &ban(6), None);
        assert_eq!(overlay.get("x"), Some((Pending::Changes(vec![ban(5), ban(6)]), 6)));
        overlay.put(3, &write(7, Operation::Delete { expected: None }), None);
        assert_eq!(overlay.get("x"), Some((Pending::Known(None), 7)));
    }
}
