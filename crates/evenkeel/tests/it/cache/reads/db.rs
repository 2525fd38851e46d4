//! The database of the tests: rows, a count of loads, and control over each load.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex};
use tokio::sync::{oneshot, watch};

/// The results of a load other than a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DbError(pub(super) &'static str);

impl std::fmt::Display for DbError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for DbError {}

/// Rows by number. Clones are the same database.
#[derive(Clone)]
pub(super) struct Db(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    loads: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    rows: HashMap<u64, String>,
    failure: Option<DbError>,
    holds: VecDeque<(oneshot::Sender<()>, oneshot::Receiver<()>)>,
    running: usize,
    running_peak: usize,
}

/// A load that is held, or will be, after it has read its row.
pub(super) struct HeldLoad {
    reached: oneshot::Receiver<()>,
    go: oneshot::Sender<()>,
}

impl Db {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner { state: Mutex::default(), loads: watch::Sender::new(0) }))
    }

    /// A database with the row 1.
    pub(super) fn with(row: &str) -> Self {
        let db = Self::new();
        db.write(1, row);
        db
    }

    pub(super) fn write(&self, key: u64, row: &str) {
        self.0.state.lock().unwrap().rows.insert(key, row.to_owned());
    }

    pub(super) fn delete(&self, key: u64) {
        self.0.state.lock().unwrap().rows.remove(&key);
    }

    /// Makes loads fail until `None` is set.
    pub(super) fn fail(&self, failure: Option<DbError>) {
        self.0.state.lock().unwrap().failure = failure;
    }

    /// Holds the next load between reading its row and returning it.
    pub(super) fn hold(&self) -> HeldLoad {
        let (reached_sender, reached) = oneshot::channel();
        let (go, go_receiver) = oneshot::channel();
        self.0.state.lock().unwrap().holds.push_back((reached_sender, go_receiver));
        HeldLoad { reached, go }
    }

    /// Loads that have begun.
    pub(super) fn loads(&self) -> usize {
        *self.0.loads.borrow()
    }

    /// The largest number of loads that were under way at once.
    pub(super) fn peak(&self) -> usize {
        self.0.state.lock().unwrap().running_peak
    }

    /// Waits until `loads` loads have begun.
    pub(super) async fn until_loads(&self, loads: usize) {
        self.0.loads.subscribe().wait_for(|begun| *begun >= loads).await.unwrap();
    }

    /// The loader of one row.
    pub(super) fn find(&self, key: u64) -> impl Future<Output = Result<Option<String>, DbError>> + Send + use<> {
        let rows = self.find_many(vec![key]);
        async move { Ok(rows.await?.remove(&key)) }
    }

    /// The loader of many rows.
    pub(super) fn find_many(
        &self,
        keys: Vec<u64>,
    ) -> impl Future<Output = Result<HashMap<u64, String>, DbError>> + Send + use<> {
        let db = self.clone();
        async move {
            let (rows, failure, hold) = {
                let mut state = db.0.state.lock().unwrap();
                state.running += 1;
                state.running_peak = state.running_peak.max(state.running);
                let rows = keys.iter().filter_map(|key| Some((*key, state.rows.get(key)?.clone()))).collect();
                (rows, state.failure.clone(), state.holds.pop_front())
            };
            db.0.loads.send_modify(|loads| *loads += 1);
            if let Some((reached, go)) = hold {
                let _ = reached.send(());
                let _ = go.await;
            }
            db.0.state.lock().unwrap().running -= 1;
            failure.map_or(Ok(rows), Err)
        }
    }
}

impl HeldLoad {
    /// Waits until the load has read its row.
    pub(super) async fn reached(&mut self) {
        (&mut self.reached).await.unwrap();
    }

    /// Lets it return. Dropping does the same.
    pub(super) fn release(self) {
        let _ = self.go.send(());
    }
}
