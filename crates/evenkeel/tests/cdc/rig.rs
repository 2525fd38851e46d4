//! A source that a test controls, and a keel that captures it.

use async_trait::async_trait;
use evenkeel::Keel;
use evenkeel::cdc::source::{
    Anchor, Barrier, Change, Event, Gap, GapCause, Identity, Kind, Position, Row, Source, SourceError, StartAt,
    Started, Table, Value,
};
use evenkeel::cdc::{Capture, CaptureAdmin, Changed, TableRules};
use evenkeel::sql::migrate;
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::park;
use tokio::sync::watch;

/// Fails a test that waits for something that never happens.
pub(crate) fn in_time<T>(story: impl Future<Output = T>) -> Pin<Box<impl Future<Output = T>>> {
    let is_mutant = std::env::var_os("EVENKEEL_MUTANT").is_some();
    let limit = Duration::from_secs(if is_mutant { 20 } else { 50 });
    Box::pin(async move { tokio::time::timeout(limit, story).await.expect("the test waited in vain") })
}

/// Polls a future until it has waited so often, then drops it.
pub(crate) async fn dropped_after<F: Future>(waits: usize, future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut waited = 0;
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending if waited == waits => std::task::Poll::Ready(None),
        std::task::Poll::Pending => {
            waited += 1;
            std::task::Poll::Pending
        }
    })
    .await
}

/// A log in memory. Group `n` is at position `n`, the first is 1. Clones share it.
#[derive(Clone)]
pub(crate) struct Log(Arc<Shared>);

struct Shared {
    groups: Mutex<Vec<Vec<Change>>>,
    identity: Mutex<String>,
    visible: watch::Sender<u64>,
    /// Whether the visibility can be asked.
    is_known: watch::Sender<bool>,
    asked: watch::Sender<u64>,
    started: watch::Sender<u64>,
    idle_at: watch::Sender<Option<u64>>,
    confirmed: watch::Sender<Vec<u64>>,
}

impl Default for Log {
    fn default() -> Self {
        Self(Arc::new(Shared {
            groups: Mutex::default(),
            identity: Mutex::new("log 1".to_owned()),
            visible: watch::Sender::new(u64::MAX),
            is_known: watch::Sender::new(true),
            asked: watch::Sender::new(0),
            started: watch::Sender::new(0),
            idle_at: watch::Sender::new(None),
            confirmed: watch::Sender::new(Vec::new()),
        }))
    }
}

impl Log {
    /// Appends a group of changes.
    pub(crate) fn commit(&self, changes: impl IntoIterator<Item = Change>) {
        self.0.groups.lock().unwrap().push(changes.into_iter().collect());
    }

    /// Only groups up to this one are visible.
    pub(crate) fn show_up_to(&self, group: u64) {
        self.0.visible.send_replace(group);
    }

    pub(crate) fn set_known(&self, is_known: bool) {
        self.0.is_known.send_replace(is_known);
    }

    pub(crate) fn rename(&self, identity: &str) {
        identity.clone_into(&mut self.0.identity.lock().unwrap());
    }

    /// The positions that were confirmed, in order.
    pub(crate) fn confirmed(&self) -> Vec<u64> {
        self.0.confirmed.borrow().clone()
    }

    pub(crate) async fn until_confirmed(&self, group: u64) {
        self.0.confirmed.subscribe().wait_for(|all| all.last().is_some_and(|last| *last >= group)).await.unwrap();
    }

    /// Until the visibility of this group was asked.
    pub(crate) async fn until_asked(&self, group: u64) {
        self.0.asked.subscribe().wait_for(|asked| *asked >= group).await.unwrap();
    }

    pub(crate) async fn until_started(&self, times: u64) {
        self.0.started.subscribe().wait_for(|started| *started >= times).await.unwrap();
    }

    /// From now on only later readers are idle.
    pub(crate) fn forget_idle(&self) {
        self.0.idle_at.send_replace(None);
    }

    /// Until a reader has read up to this group and found nothing after it.
    pub(crate) async fn until_idle_at(&self, group: u64) {
        self.0.idle_at.subscribe().wait_for(|at| at.is_some_and(|at| at >= group)).await.unwrap();
    }

    pub(crate) fn source(&self) -> Reading {
        Reading { log: self.clone(), at: 0, epoch: 1 }
    }
}

/// A source that reads a [`Log`].
pub(crate) struct Reading {
    log: Log,
    at: u64,
    epoch: u64,
}

impl Reading {
    fn position(&self, at: u64) -> Position {
        Position { epoch: self.epoch, order: (at, 0), text: at.to_string() }
    }
}

#[async_trait]
impl Source for Reading {
    async fn start(&mut self, at: StartAt) -> Result<Started, SourceError> {
        let end = self.log.0.groups.lock().unwrap().len() as u64;
        (self.epoch, self.at) = match at {
            StartAt::End { epoch } => (epoch, end),
            StartAt::Checkpoint(checkpoint) => (checkpoint.epoch, checkpoint.position.parse().unwrap()),
        };
        if self.at > end {
            let detail = format!("the log ends at {end}");
            return Err(SourceError::Gap(Gap { cause: GapCause::RolledBack, detail }));
        }
        self.log.0.idle_at.send_replace(None);
        self.log.0.started.send_modify(|started| *started += 1);
        let identity = Identity(self.log.0.identity.lock().unwrap().clone());
        Ok(Started { identity, position: self.position(self.at) })
    }

    async fn next(&mut self) -> Result<Vec<Event>, SourceError> {
        let group = self.log.0.groups.lock().unwrap().get(usize::try_from(self.at).unwrap()).cloned();
        let Some(changes) = group else {
            self.log.0.idle_at.send_replace(Some(self.at));
            return Ok(vec![Event::Idle { position: self.position(self.at) }]);
        };
        self.at += 1;
        let position = self.position(self.at);
        let mut events = vec![Event::Begin { position: position.clone() }];
        events.extend(changes.into_iter().map(Event::Change));
        events.push(Event::Commit { position, anchor: Anchor(format!("group {}", self.at)), at_ms: None });
        Ok(events)
    }

    async fn barrier(&mut self, position: &Position) -> Result<Barrier, SourceError> {
        self.log.0.asked.send_replace(position.order.0);
        if !*self.log.0.is_known.borrow() {
            return Ok(Barrier::Unknown("the primary is away".to_owned()));
        }
        let is_visible = *self.log.0.visible.borrow() >= position.order.0;
        Ok(if is_visible { Barrier::Visible } else { Barrier::NotYet })
    }

    async fn confirm(&mut self, position: &Position) -> Result<(), SourceError> {
        self.log.0.confirmed.send_modify(|all| all.push(position.order.0));
        Ok(())
    }

    fn idle_pause(&self) -> Duration {
        Duration::from_millis(1)
    }
}

pub(crate) fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

/// A row of the table `users`.
pub(crate) fn user(id: i64, mail: &str) -> Row {
    [("id", Value::Int(id)), ("mail", text(mail))].into_iter().collect()
}

/// A change of a row of a table.
pub(crate) fn change(table: &str, kind: Kind, before: Option<Row>, after: Option<Row>) -> Change {
    Change { table: Table { schema: "public".into(), name: table.into() }, kind, before, after }
}

/// An update of a row of `users` that leaves its key.
pub(crate) fn updated(id: i64) -> Change {
    change("users", Kind::Update, Some(user(id, "a@b")), Some(user(id, "a@b")))
}

/// A keel in memory, a log, and a database for checkpoints.
pub(crate) struct Rig {
    pub(crate) keel: Keel,
    pub(crate) pool: SqlitePool,
    pub(crate) log: Log,
    _database: park::Database,
}

impl Rig {
    /// A checkpoint at the beginning of the log exists already.
    pub(crate) async fn begun() -> Self {
        Self::begun_with(Keel::memory()).await
    }

    /// The same with this keel.
    pub(crate) async fn begun_with(keel: Keel) -> Self {
        let rig = Self { keel, ..Self::new().await };
        let shutdown = rig.log.until_confirmed(0);
        rig.calls(&rig.log, &Calls::default()).run(shutdown).await.unwrap();
        rig
    }

    pub(crate) async fn new() -> Self {
        let database = park::sqlite_database().unwrap();
        // Of one connection: what a dropped call had sent comes before what follows.
        let pool = SqlitePoolOptions::new().max_connections(1).connect(&database.url).await.unwrap();
        migrate(&pool).await.unwrap();
        Self { keel: Keel::memory(), pool, log: Log::default(), _database: database }
    }

    pub(crate) fn admin(&self) -> CaptureAdmin {
        self.keel.cdc_admin("main", &self.pool)
    }

    pub(crate) fn capture(&self, log: &Log, rules: impl FnOnce(TableRules) -> TableRules) -> Capture {
        self.keel.cdc("main", &self.pool, log.source()).table("users", rules)
    }

    /// Captures with a function.
    pub(crate) fn calls(&self, log: &Log, calls: &Calls) -> Capture {
        let calls = calls.clone();
        self.capture(log, |rule| rule.call("calls", move |changed| calls.note(changed)).key("id"))
    }

    /// The position of the checkpoint.
    pub(crate) async fn checkpoint(&self) -> String {
        self.admin().status().await.unwrap().unwrap().position.unwrap()
    }

    /// As if the time of the reader's lease had passed.
    pub(crate) async fn end_lease(&self) {
        sqlx::query("UPDATE evenkeel_cdc_source SET lease_until = 0").execute(&self.pool).await.unwrap();
    }
}

/// What a function was called with. It fails for the ids that it is told to.
#[derive(Clone, Default)]
pub(crate) struct Calls {
    all: Arc<Mutex<Vec<Changed>>>,
    failing: Arc<Mutex<Vec<i64>>>,
}

impl Calls {
    pub(crate) fn fail_for(&self, ids: &[i64]) {
        *self.failing.lock().unwrap() = ids.to_vec();
    }

    pub(crate) fn note(&self, changed: Changed) -> Ready<Result<(), std::io::Error>> {
        let id = id_of(&changed);
        self.all.lock().unwrap().push(changed);
        let fails = self.failing.lock().unwrap().contains(&id);
        ready(if fails { Err(std::io::Error::other("told to fail")) } else { Ok(()) })
    }

    /// The ids of the rows, in the order of the calls.
    pub(crate) fn ids(&self) -> Vec<i64> {
        self.all.lock().unwrap().iter().map(id_of).collect()
    }

    pub(crate) fn all(&self) -> Vec<Changed> {
        self.all.lock().unwrap().clone()
    }
}

fn id_of(changed: &Changed) -> i64 {
    let row = changed.after.as_ref().or(changed.before.as_ref()).unwrap();
    match row.get("id").unwrap() {
        Value::Int(id) => *id,
        Value::Text(text) => text.parse().unwrap(),
        other => panic!("{other:?} is no id"),
    }
}
