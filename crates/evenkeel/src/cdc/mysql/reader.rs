//! Events of the log become groups of changes. Nothing here does I/O.

use super::decode::{
    Charsets, Damaged, GroupId, Header, Kind, Query, Rotate, RowsEvent, RowsKind, Statement, TableHead, TableMap,
};
use super::group::{Group, Held, Prepared};
use super::place::{Mark, Place, wider};
use super::resume::{Resume, gap};
use crate::cdc::source::{Change, Event, GapCause, Kind as ChangeKind, Position, SourceError, Table};
use evenkeel_link::support::guard;
use std::collections::HashMap;
use std::sync::Arc;

/// Reads events in the order of the log.
#[derive(Debug)]
pub(super) struct Reader {
    epoch: u64,
    tables: Vec<Table>,
    charsets: Charsets,
    /// Behind the last event.
    place: Place,
    born: u32,
    maps: HashMap<u64, Mapped>,
    group: Option<Group>,
    prepared: Prepared,
    resume: Option<Resume>,
    events: Vec<Event>,
    /// The bytes of the log that `events` came from.
    bytes: usize,
}

/// A table by its number, which holds until the file ends.
#[derive(Debug)]
struct Mapped {
    /// Equal bytes are not decoded again.
    body: Vec<u8>,
    /// `None`: no rule is about it.
    table: Option<Arc<(Table, TableMap)>>,
}

impl Reader {
    pub(super) fn new(
        epoch: u64,
        tables: Vec<Table>,
        charsets: Charsets,
        start: Place,
        resume: Option<Resume>,
    ) -> Self {
        Self {
            epoch,
            tables,
            charsets,
            place: start,
            born: 0,
            maps: HashMap::new(),
            group: None,
            prepared: Prepared::default(),
            resume,
            events: Vec::new(),
            bytes: 0,
        }
    }

    /// Whether everything before the checkpoint was read, and the file's beginning.
    pub(super) fn is_ready(&self) -> bool {
        self.resume.is_none() && self.born != 0
    }

    /// Whether the part of the log before the checkpoint is still read.
    pub(super) fn is_resuming(&self) -> bool {
        self.resume.is_some()
    }

    pub(super) fn is_inside_group(&self) -> bool {
        self.group.is_some()
    }

    /// The events there are, and the bytes of the log that they came from.
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.events.len(), self.bytes)
    }

    pub(super) fn take(&mut self) -> Vec<Event> {
        self.bytes = 0;
        std::mem::take(&mut self.events)
    }

    /// Behind the last event.
    pub(super) fn position(&self) -> Position {
        Mark { place: self.place.clone(), born: self.born, from: self.prepared.oldest() }.position(self.epoch)
    }

    /// Reads one event: its header, and what is between that and the checksum.
    pub(super) fn event(&mut self, header: Header, body: &[u8]) -> Result<(), SourceError> {
        let kind = Kind::of(header.raw);
        let before = self.place.offset;
        let invented = header.end == 0 || header.is_artificial();
        if !invented {
            self.place.offset = wider(before, header.end);
        }
        if let Some(group) = &mut self.group {
            group.add(header, body);
        }
        self.bytes += body.len();
        let result = match kind {
            Kind::FormatDescription => self.file(header.seconds),
            Kind::Rotate => self.rotate(body),
            Kind::Gtid => self.gtid(header, body, before),
            Kind::GtidMysql => self.begin(String::new(), false, before, header, body),
            Kind::Query => self.query(header, body, false, before),
            Kind::QueryCompressed => self.query(header, body, true, before),
            Kind::Xid => self.commit(),
            Kind::XaPrepare => self.prepare(body),
            Kind::TableMap => self.table(body),
            Kind::Rows(form) => self.rows(form, body),
            Kind::Load => self.unknown_rows(),
            Kind::Incident => {
                let detail = format!("the server logged an incident at {}: events are missing", self.place);
                Err(Stop::Error(gap(GapCause::Incident, detail)))
            }
            Kind::Heartbeat | Kind::Passed => Ok(()),
            Kind::Unknown if header.is_ignorable() || !guard("binlog_unknown") => Ok(()),
            Kind::Payload => Err(Stop::damaged("a compressed transaction of MySQL")),
            Kind::PartialJson => Err(Stop::damaged("a partial JSON document of MySQL")),
            Kind::PartialRows => Err(Stop::Unreadable(
                "a fragment of a rows event".to_owned(),
                "SET GLOBAL binlog_row_event_fragment_threshold = 4294967295".to_owned(),
            )),
            Kind::Unknown => Err(Stop::damaged(format!("an event of the unknown type {}", header.raw))),
        };
        result.map_err(|stop| self.stop(stop, before, header))?;
        self.resumed()
    }

    fn stop(&self, stop: Stop, before: u64, header: Header) -> SourceError {
        let (what, remedy) = match stop {
            Stop::Error(error) => return error,
            Stop::Unreadable(what, remedy) => (what, remedy),
            Stop::Damaged(Damaged(what)) => (what, REMEDY.to_owned()),
        };
        let place = Place { file: self.place.file.clone(), offset: before };
        let position = Mark { place, born: self.born, from: None }.position(self.epoch);
        SourceError::Unreadable { position, what: format!("{what} (event type {})", header.raw), remedy }
    }

    /// The event after the last one cannot be read at all.
    pub(super) fn unreadable(&self, what: &str) -> SourceError {
        SourceError::Unreadable { position: self.position(), what: what.to_owned(), remedy: REMEDY.to_owned() }
    }

    fn resumed(&mut self) -> Result<(), SourceError> {
        if self.group.is_none()
            && let Some(resume) = &self.resume
            && resume.reached(self.place.order())?
        {
            self.resume = None;
        }
        Ok(())
    }

    fn file(&mut self, born: u32) -> Result<(), Stop> {
        self.maps.clear();
        self.lost();
        self.born = born;
        if let Some(resume) = &mut self.resume {
            resume.file(&self.place.file, born).map_err(Stop::Error)?;
        }
        Ok(())
    }

    fn rotate(&mut self, body: &[u8]) -> Result<(), Stop> {
        let Rotate { offset, file } = Rotate::decode(body, &self.place.file)?;
        self.maps.clear();
        if file != self.place.file {
            self.lost();
            self.born = 0;
        }
        self.place = Place { file, offset };
        Ok(())
    }

    /// A file that ends inside a group is that of a server that crashed: the group was not committed.
    fn lost(&mut self) {
        if self.group.is_some() {
            self.roll_back();
        }
    }

    fn gtid(&mut self, header: Header, body: &[u8], before: u64) -> Result<(), Stop> {
        let id = GroupId::decode(header.server, body)?;
        self.begin(id.to_string(), !id.standalone, before, header, body)?;
        if let (Some(group), Some(xa)) = (&mut self.group, id.prepared) {
            group.xa = guard("binlog_xa").then(|| (xa, Held::default()));
        }
        Ok(())
    }

    fn begin(&mut self, id: String, transaction: bool, at: u64, header: Header, body: &[u8]) -> Result<(), Stop> {
        if self.group.is_some() {
            return Err(Stop::damaged("a group begins inside another one"));
        }
        let start = Place { file: self.place.file.clone(), offset: at };
        let mut group = Group::new(start, id, transaction, self.resume.is_some());
        group.add(header, body);
        if !group.passed {
            self.events.push(Event::Begin { position: self.position() });
        }
        self.group = Some(group);
        Ok(())
    }

    fn query(&mut self, header: Header, body: &[u8], compressed: bool, before: u64) -> Result<(), Stop> {
        let query = Query::decode(body, compressed)?;
        if self.group.is_none() {
            self.begin(String::new(), false, before, header, body)?;
        }
        let group = self.group.as_mut().ok_or_else(|| Stop::damaged("no group"))?;
        match query.statement() {
            Statement::Begin => group.transaction = true,
            Statement::XaStart(id) => {
                group.transaction = true;
                group.xa = Some((id, Held::default()));
            }
            Statement::Commit => return self.commit(),
            Statement::Rollback => {
                self.roll_back();
                return Ok(());
            }
            Statement::XaCommit(id) => {
                match self.prepared.remove(&id) {
                    Some(held) => self.release(held),
                    None => self.unknown_rows()?,
                }
                return self.commit();
            }
            Statement::XaRollback(id) => {
                self.prepared.remove(&id);
                return self.commit();
            }
            Statement::Definition { rows } => self.definition(&query, rows),
            Statement::Rows if guard("binlog_statement") => self.unknown_rows()?,
            Statement::Nothing | Statement::Rows => {}
        }
        match &self.group {
            Some(group) if !group.transaction => self.commit(),
            _ => Ok(()),
        }
    }

    fn definition(&mut self, query: &Query<'_>, rows: bool) {
        let kind = if rows { ChangeKind::Truncate } else { ChangeKind::Schema };
        let named = self.tables.iter().filter(|table| query.may_name(&table.schema, &table.name));
        let new = |table: &Table| Change { table: table.clone(), kind, before: None, after: None };
        let changes = named.map(new).collect::<Vec<_>>();
        self.push(changes, 0);
    }

    /// A statement changed rows that the log does not have. Which tables it changed is not known: triggers and functions change others than
    /// those that it names.
    fn unknown_rows(&mut self) -> Result<(), Stop> {
        let group = self.group.as_mut().ok_or_else(|| Stop::damaged("rows outside of a group"))?;
        let changes = self.tables.iter().filter_map(|table| group.sweep(table)).collect();
        self.push(changes, 0);
        Ok(())
    }

    fn table(&mut self, body: &[u8]) -> Result<(), Stop> {
        let head = TableHead::decode(body)?;
        if self.maps.get(&head.id).is_some_and(|mapped| mapped.body == body) {
            return Ok(());
        }
        let table = self.tables.iter().find(|table| *table.schema == *head.schema && *table.name == *head.name);
        let id = head.id;
        let table = match table {
            None => None,
            Some(table) => match TableMap::decode(head, &self.charsets)? {
                Some(map) => Some(Arc::new((table.clone(), map))),
                None => {
                    let what = format!("rows of {table} without the names of their columns");
                    return Err(Stop::Unreadable(what, "SET GLOBAL binlog_row_metadata = 'FULL'".to_owned()));
                }
            },
        };
        self.maps.insert(id, Mapped { body: body.to_vec(), table });
        Ok(())
    }

    fn rows(&mut self, form: RowsKind, body: &[u8]) -> Result<(), Stop> {
        let Some(id) = RowsEvent::table(body)? else { return Ok(()) };
        let mapped = self.maps.get(&id).ok_or_else(|| Stop::damaged(format!("rows of the unknown table {id}")))?;
        let Some(table) = mapped.table.clone() else { return Ok(()) };
        let group = self.group.as_mut().ok_or_else(|| Stop::damaged("rows outside of a group"))?;
        if group.passed && group.xa.is_none() {
            return Ok(());
        }
        let (table, map) = &*table;
        if !group.touched.contains(table) {
            group.touched.insert(table.clone());
        }
        let event = RowsEvent::decode(form, body)?;
        let mut rows = event.rows(map)?;
        let mut changes = Vec::new();
        while let Some((before, after)) = rows.next()? {
            let kind = match (&before, &after) {
                (None, _) => ChangeKind::Insert,
                (_, None) => ChangeKind::Delete,
                _ => ChangeKind::Update,
            };
            changes.push(Change { table: table.clone(), kind, before, after });
        }
        self.push(changes, body.len());
        Ok(())
    }

    fn push(&mut self, changes: Vec<Change>, bytes: usize) {
        match &mut self.group {
            Some(Group { xa: Some((_, held)), .. }) => held.push(changes, bytes),
            Some(Group { passed: false, .. }) => self.events.extend(changes.into_iter().map(Event::Change)),
            _ => {}
        }
    }

    fn release(&mut self, held: Held) {
        self.push(held.into_changes(), 0);
    }

    /// `XA PREPARE`, or a commit in one phase.
    fn prepare(&mut self, body: &[u8]) -> Result<(), Stop> {
        let one_phase = body.first().is_some_and(|byte| *byte != 0);
        let group = self.group.as_mut().ok_or_else(|| Stop::damaged("XA PREPARE outside of a group"))?;
        let start = group.start.clone();
        let (id, held) = group.xa.take().ok_or_else(|| Stop::damaged("XA PREPARE without XA START"))?;
        if one_phase {
            self.release(held);
        } else {
            self.prepared.insert(id, start, held);
        }
        self.commit()
    }

    /// The group's changes did not happen, but were returned: whatever they led to is decided again from the tables.
    fn roll_back(&mut self) {
        let Some(mut group) = self.group.take() else { return };
        group.xa = None;
        let touched = std::mem::take(&mut group.touched);
        let changes = touched.iter().filter_map(|table| group.sweep(table)).collect();
        self.group = Some(group);
        self.push(changes, 0);
        self.end();
    }

    fn commit(&mut self) -> Result<(), Stop> {
        let Some(group) = &self.group else {
            return Err(Stop::damaged("a commit outside of a group"));
        };
        if let Some(resume) = &mut self.resume {
            resume.group(group, self.place.offset).map_err(Stop::Error)?;
        }
        self.end();
        Ok(())
    }

    fn end(&mut self) {
        let Some(group) = self.group.take() else { return };
        if !group.passed {
            let seal = group.seal(self.place.offset);
            let at_ms = Some(u64::from(seal.seconds) * 1_000);
            self.events.push(Event::Commit { position: self.position(), anchor: seal.anchor(), at_ms });
        }
    }
}

/// For what nothing on the server repairs.
const REMEDY: &str = "Report it, or accept the gap: begin at the end of the log and sweep the rules' entries";

/// Why an event stops the source.
#[derive(Debug)]
enum Stop {
    Damaged(Damaged),
    /// What was found, and the remedy.
    Unreadable(String, String),
    Error(SourceError),
}

impl Stop {
    fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(Damaged::new(what))
    }
}

impl From<Damaged> for Stop {
    fn from(damaged: Damaged) -> Self {
        Self::Damaged(damaged)
    }
}
