//! The group that is being read, and transactions that are prepared and not ended.

use super::decode::Header;
use super::place::{Place, Seal};
use crate::cdc::source::{Change, Kind, Table};
use std::collections::{BTreeSet, HashMap};

/// A group from its first event on.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) start: Place,
    id: String,
    crc: crc32fast::Hasher,
    seconds: u32,
    /// It ends with a commit, and not with its first statement.
    pub(super) transaction: bool,
    /// It is before the checkpoint: nothing of it is returned.
    pub(super) passed: bool,
    /// Its changes wait for `XA PREPARE` or a commit in one phase.
    pub(super) xa: Option<(String, Held)>,
    /// Tables with changes, in case they did not happen.
    pub(super) touched: BTreeSet<Table>,
    /// Tables that were said to have unknown changes; once a group is enough.
    swept: BTreeSet<Table>,
}

impl Group {
    pub(super) fn new(start: Place, id: String, transaction: bool, passed: bool) -> Self {
        Self {
            start,
            id,
            crc: crc32fast::Hasher::new(),
            seconds: 0,
            transaction,
            passed,
            xa: None,
            touched: BTreeSet::new(),
            swept: BTreeSet::new(),
        }
    }

    /// Counts an event in.
    pub(super) fn add(&mut self, header: Header, body: &[u8]) {
        self.crc.update(&header.seconds.to_le_bytes());
        self.crc.update(&[header.raw]);
        self.crc.update(body);
        self.seconds = header.seconds;
    }

    /// A change of unknown rows of this table, unless the group has one already.
    pub(super) fn sweep(&mut self, table: &Table) -> Option<Change> {
        let new = self.swept.insert(table.clone());
        new.then(|| Change { table: table.clone(), kind: Kind::Truncate, before: None, after: None })
    }

    pub(super) fn seal(&self, end: u64) -> Seal {
        let Self { start, seconds, id, crc, .. } = self;
        Seal { start: start.clone(), end, seconds: *seconds, id: id.clone(), crc: crc.clone().finalize() }
    }
}

/// Changes that wait for a second decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    changes: Vec<Change>,
    bytes: usize,
    /// There were too many changes: their tables are kept instead.
    tables: Option<BTreeSet<Table>>,
}

/// The largest amount of rows, in bytes of the log, of one transaction that waits.
const HELD_BYTES: usize = 16 << 20;

impl Held {
    /// Keeps changes of one table, which have so many bytes in the log.
    pub(super) fn push(&mut self, changes: Vec<Change>, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.tables.is_none() && self.bytes > HELD_BYTES {
            self.tables = Some(std::mem::take(&mut self.changes).into_iter().map(|change| change.table).collect());
        }
        match &mut self.tables {
            None => self.changes.extend(changes),
            Some(tables) => tables.extend(changes.into_iter().map(|change| change.table)),
        }
    }

    /// The changes; or, of a transaction that was too large, that unknown rows of its tables changed.
    pub(super) fn into_changes(self) -> Vec<Change> {
        let unknown = |table| Change { table, kind: Kind::Truncate, before: None, after: None };
        match self.tables {
            None => self.changes,
            Some(tables) => tables.into_iter().map(unknown).collect(),
        }
    }
}

/// Prepared transactions by their ids.
#[derive(Debug, Default)]
pub(super) struct Prepared(HashMap<String, (Place, Held)>);

impl Prepared {
    pub(super) fn insert(&mut self, id: String, start: Place, held: Held) {
        self.0.insert(id, (start, held));
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Held> {
        self.0.remove(id).map(|(_, held)| held)
    }

    /// Where the oldest of them begins.
    pub(super) fn oldest(&self) -> Option<Place> {
        self.0.values().map(|(start, _)| start).min_by_key(|start| start.order()).cloned()
    }
}
