//! [`Overlay`]: the links as they will be once the writes that wait are in the database. What this instance has accepted, it shows.

use crate::domain::{Link, NotedWrite, Verdict, Wanted};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is known of a link with writes that wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// It will be this; `None`: it will not be there.
    Known(Option<Box<Link>>),
    /// What the database has could not be looked at; these changes come on top of it, in this order.
    Changes(Vec<NotedWrite>),
}

/// The links with writes that wait.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    /// How many there are, for whoever only wants to know that there are none.
    count: AtomicUsize,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_code: HashMap<String, Entry>,
    /// All writes up to this sequence have been settled.
    settled: u64,
}

#[derive(Debug)]
struct Entry {
    pending: Pending,
    version: i64,
    /// The last of its writes.
    sequence: u64,
}

impl Overlay {
    /// What is known of the link `code`, and the version of the last write that waits; `None`: none does.
    pub(super) fn get(&self, code: &str) -> Option<(Pending, i64)> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.entries().by_code.get(code).map(|entry| (entry.pending.clone(), entry.version))
    }

    /// Whether a write of the link `code` waits.
    pub(super) fn has(&self, code: &str) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.entries().by_code.contains_key(code)
    }

    /// A write waits under this sequence. `base` is what the link was, if that is known.
    pub(super) fn put(&self, sequence: u64, write: &NotedWrite, base: Option<Option<Link>>) {
        let mut entries = self.entries();
        if sequence <= entries.settled {
            return;
        }
        let earlier = entries.by_code.remove(write.code.as_str()).map(|entry| entry.pending);
        let earlier = earlier.or_else(|| base.map(|base| Pending::Known(base.map(Box::new))));
        let entry = Entry { pending: after(earlier, write), version: write.version, sequence };
        entries.by_code.insert(write.code.to_string(), entry);
        self.count.store(entries.by_code.len(), Ordering::Release);
    }

    /// The writes up to this sequence have been settled: what they did is in the database.
    pub(super) fn settled(&self, sequence: u64) {
        let mut entries = self.entries();
        entries.settled = entries.settled.max(sequence);
        entries.by_code.retain(|_, entry| entry.sequence > sequence);
        self.count.store(entries.by_code.len(), Ordering::Release);
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known after one more write.
fn after(earlier: Option<Pending>, write: &NotedWrite) -> Pending {
    match (earlier, &write.wanted) {
        (Some(Pending::Known(link)), _) => Pending::Known(applied(link, write)),
        // Whether it was there or not: afterwards it is (not).
        (_, Wanted::Create { .. } | Wanted::Delete { .. }) => Pending::Known(applied(None, write)),
        (Some(Pending::Changes(mut changes)), Wanted::Change { .. }) => {
            changes.push(write.clone());
            Pending::Changes(changes)
        }
        (None, Wanted::Change { .. }) => Pending::Changes(vec![write.clone()]),
    }
}

/// The link after a write; a write that will not be done leaves it as it was.
pub(super) fn applied(link: Option<Box<Link>>, write: &NotedWrite) -> Option<Box<Link>> {
    match write.settle(link.as_deref()) {
        Verdict::Insert(link) | Verdict::Update { link, .. } => Some(Box::new(link)),
        Verdict::Delete => None,
        Verdict::Nothing | Verdict::Conflict(_) => link,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;
    use crate::domain::{Code, LinkPatch, Target};
    use jiff::Timestamp;

    fn write(version: i64, wanted: Wanted) -> NotedWrite {
        let at = Timestamp::from_second(version).unwrap();
        NotedWrite { code: Code::alias("x").unwrap(), version, at, made_at: None, wanted }
    }

    fn create(version: i64) -> NotedWrite {
        let target = Target::stored("https://example.com/".to_owned());
        write(version, Wanted::Create { target, alias: true, expires_at: None })
    }

    fn ban(version: i64) -> NotedWrite {
        let patch = LinkPatch { banned: Some(true), ..LinkPatch::default() };
        write(version, Wanted::Change { patch, expected: None })
    }

    #[test]
    fn a_link_is_shown_as_its_last_write_leaves_it_until_that_is_settled() {
        let overlay = Overlay::default();
        overlay.put(1, &create(1), None);
        overlay.put(2, &ban(2), None);
        let Some((Pending::Known(Some(link)), 2)) = overlay.get("x") else { unreachable!() };
        assert!(link.banned);
        overlay.settled(1);
        assert!(overlay.has("x"), "its last write still waits");
        overlay.settled(2);
        assert!(!overlay.has("x"));
        overlay.put(2, &ban(2), None);
        assert!(!overlay.has("x"), "it was settled before its acceptance was noted here");
    }

    #[test]
    fn changes_of_a_link_that_could_not_be_looked_at_are_kept_in_their_order() {
        let overlay = Overlay::default();
        overlay.put(1, &ban(5), None);
        overlay.put(2, &ban(6), None);
        assert_eq!(overlay.get("x"), Some((Pending::Changes(vec![ban(5), ban(6)]), 6)));
        overlay.put(3, &write(7, Wanted::Delete { expected: None }), None);
        assert_eq!(overlay.get("x"), Some((Pending::Known(None), 7)));
    }
}
