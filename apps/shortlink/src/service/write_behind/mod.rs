//! [`WriteBehind`]: writes are acknowledged once they are on the local disk, and applied to the database later.
//!
//! A write is validated, gets a version, is appended to the spool and acknowledged; from then on this instance shows it
//! ([`Overlay`]). The worker applies writes in their order. Of two writes of one link the newer version wins; a write that cannot be
//! applied is recorded as a conflict.

mod overlay;
mod quarantine;
mod record;
mod worker;

pub(super) use overlay::Pending;

use super::ServiceError;
use crate::domain::{Code, Link, LinkPatch, NewLink, Operation, PendingWrite, next_version, truncate_to_ms};
use crate::store::{StoreError, Writer};
use evenkeel::clock::{Clock, Moment};
use evenkeel::spool::Spool;
use metrics::{Counter, counter, describe_counter};
use overlay::Overlay;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, Notify, watch};
use tracing::{info, warn};

/// How long a write waits for the current state of its link. After that it is accepted without it.
const LOOKUP_TIMEOUT: Duration = Duration::from_millis(500);

/// How long the database is not asked again after it failed to answer.
const UNREACHABLE_FOR: Duration = Duration::from_secs(1);

/// Number of locks that serialize the writes of one link, striped by its code.
const LOCKS: usize = 64;

/// The write-behind mode. Cheap to clone.
#[derive(Clone)]
pub(super) struct WriteBehind(Arc<Inner>);

struct Inner {
    writer: Writer,
    spool: Spool,
    /// Unique to this spool, also after its folder was emptied.
    name: String,
    overlay: Overlay,
    locks: [Mutex<()>; LOCKS],
    /// Until then the database counts as unreachable.
    unreachable_until: watch::Sender<Option<Moment>>,
    /// Notified of every appended write.
    appended: Notify,
    clock: Clock,
    outcomes: OutcomeCounters,
}

struct OutcomeCounters {
    written: Counter,
    earlier: Counter,
    conflict: Counter,
}

/// The link before a write: `None` if unknown, `Some(None)` if there is none.
type Base = Option<Option<Link>>;

impl WriteBehind {
    /// Opens the mode, and loads the pending writes that an earlier process left in the spool.
    pub(super) fn open(writer: &Writer, spool: Spool, clock: &Clock) -> Self {
        describe_counter!(
            "shortlink_writes_settled_total",
            "Writes of `--write-mode behind`, by their outcome in the database"
        );
        let counter_of = |outcome| counter!("shortlink_writes_settled_total", "outcome" => outcome);
        let overlay = Overlay::default();
        let mut name = None;
        let left = spool.pending(record::TOPIC, usize::MAX);
        for spooled in &left {
            if let Ok(waiting) = record::decode(spooled) {
                overlay.put(waiting.sequence, &waiting.write, None);
                name = Some(waiting.spool);
            }
        }
        if !left.is_empty() {
            info!(writes = left.len(), "found pending writes of an earlier run");
        }
        Self(Arc::new(Inner {
            writer: writer.clone(),
            spool,
            // An empty spool may be a new one in an old folder, with sequences that start again.
            name: name.unwrap_or_else(|| format!("{:032x}", rand::random::<u128>())),
            overlay,
            locks: std::array::from_fn(|_| Mutex::default()),
            unreachable_until: watch::Sender::new(None),
            appended: Notify::new(),
            clock: clock.clone(),
            outcomes: OutcomeCounters {
                written: counter_of("written"),
                earlier: counter_of("before"),
                conflict: counter_of("conflict"),
            },
        }))
    }

    /// Whether the link has pending writes.
    pub(super) fn has(&self, code: &str) -> bool {
        self.0.overlay.has(code)
    }

    /// The state of a link with pending writes; `None` if it has none.
    pub(super) fn pending(&self, code: &str) -> Option<Pending> {
        self.0.overlay.get(code).map(|(pending, _)| pending)
    }

    /// The number of pending writes.
    pub(super) fn waiting(&self) -> usize {
        self.0.spool.stats().pending
    }

    /// Accepts a new link. A generated code needs a number from the database, unless reserved numbers are left.
    pub(super) async fn create(&self, new: NewLink) -> Result<Link, ServiceError> {
        let alias = new.alias.is_some();
        let code = match new.alias {
            Some(code) => code,
            None => self.next_code().await?,
        };
        let _lock = self.lock(&code).await;
        let base = if alias { self.current(&code).await } else { Some(None) };
        if matches!(base, Some(Some(_))) {
            return Err(StoreError::AliasTaken(code).into());
        }
        let operation = Operation::Create { target: new.target, alias, expires_at: new.expires_at.map(truncate_to_ms) };
        let (write, after) = self.append(code, base.or(Some(None)), operation).await?;
        after.flatten().ok_or(ServiceError::Store(StoreError::AliasTaken(write.code)))
    }

    /// Accepts a change; `None` if there is no such link. The inner `Option` is the changed link, if known.
    pub(super) async fn patch(
        &self,
        code: Code,
        patch: LinkPatch,
        expected: Option<i64>,
    ) -> Result<Option<Option<Link>>, ServiceError> {
        let _lock = self.lock(&code).await;
        let base = self.current(&code).await;
        if !is_there(base.as_ref(), expected)? {
            return Ok(None);
        }
        let (_, after) = self.append(code, base, Operation::Change { patch, expected }).await?;
        Ok(Some(after.flatten()))
    }

    /// Accepts a deletion; `None` if there is no such link.
    pub(super) async fn delete(&self, code: Code, expected: Option<i64>) -> Result<Option<()>, ServiceError> {
        let _lock = self.lock(&code).await;
        let base = self.current(&code).await;
        if !is_there(base.as_ref(), expected)? {
            return Ok(None);
        }
        self.append(code, base, Operation::Delete { expected }).await?;
        Ok(Some(()))
    }

    /// Appends a write to the spool and shows it from then on. Returns the link after the write, if known.
    async fn append(&self, code: Code, base: Base, operation: Operation) -> Result<(PendingWrite, Base), ServiceError> {
        let at = self.0.writer.now();
        let waiting = self.0.overlay.get(code.as_str()).map(|(_, version)| version);
        let link = base.as_ref().and_then(Option::as_ref);
        let version = next_version(link.map(|link| link.version).max(waiting), at);
        let write = PendingWrite { code, version, at, made_at: link.map(|link| link.created_at), operation };
        let sequence = self.0.spool.append(record::encode(&self.0.name, &write)).await?;
        let after = base.clone().map(|base| overlay::applied(base.map(Box::new), &write).map(|link| *link));
        self.0.overlay.put(sequence, &write, base);
        self.0.appended.notify_one();
        Ok((write, after))
    }

    /// The link with its pending writes applied, else from the database; `None` if the database does not answer.
    async fn current(&self, code: &Code) -> Base {
        match self.pending(code.as_str()) {
            Some(Pending::Known(link)) => return Some(link.map(|link| *link)),
            Some(Pending::Changes(_)) => return None,
            None => {}
        }
        if self.0.unreachable_until.borrow().is_some_and(|until| self.0.clock.now() < until) {
            return None;
        }
        if let Ok(Ok(link)) = self.0.clock.timeout(LOOKUP_TIMEOUT, self.0.writer.find(code)).await {
            return Some(link);
        }
        warn!("the database does not answer; accepting writes without reading their links");
        self.0.unreachable_until.send_replace(Some(self.0.clock.now() + UNREACHABLE_FOR));
        None
    }

    async fn next_code(&self) -> Result<Code, ServiceError> {
        let code = self.0.clock.timeout(super::READ_TIMEOUT, self.0.writer.next_code()).await;
        code.map_err(|_| ServiceError::ReadTimeout)?.map_err(|error| match error {
            error if error.is_retryable() => ServiceError::NoCode(error),
            error => error.into(),
        })
    }

    /// Serializes the writes of one link.
    async fn lock(&self, code: &Code) -> tokio::sync::MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        code.hash(&mut hasher);
        let stripe = usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or(0);
        self.0.locks[stripe].lock().await
    }
}

/// The link with pending changes applied.
pub(super) fn on_top(link: Option<Link>, changes: &[PendingWrite]) -> Option<Link> {
    let changed = changes.iter().fold(link.map(Box::new), overlay::applied);
    changed.map(|link| *link)
}

/// Whether the link exists; an unknown link counts as existing.
fn is_there(base: Option<&Option<Link>>, expected: Option<i64>) -> Result<bool, StoreError> {
    match base {
        Some(None) => Ok(false),
        Some(Some(link)) if expected.is_some_and(|version| version != link.version) => {
            Err(StoreError::VersionConflict { current: link.version })
        }
        _ => Ok(true),
    }
}
