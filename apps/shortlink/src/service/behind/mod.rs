//! [`Behind`]: writes that are answered once they are on this machine's disk, and reach the database later.
//!
//! A write is checked, given a version, written down in the spool, and answered; from then on this instance shows it (`overlay`).
//! `worker` brings the writes to the database in their order. Of two writes of one link the newer version wins; what cannot be done
//! is kept among the conflicts.

mod aside;
mod overlay;
mod record;
mod worker;

pub(super) use overlay::Pending;

use super::ServiceError;
use crate::domain::{Code, Link, LinkPatch, NewLink, NotedWrite, Wanted, version_after, whole_ms};
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

/// How long a write waits for a look at what the database has. Without one it is accepted unseen.
const LOOK_MAX: Duration = Duration::from_millis(500);

/// After a look that failed, so long nobody tries another one.
const AWAY: Duration = Duration::from_secs(1);

/// Writes of one link are accepted one after another; as many at once as there are locks.
const LOCKS: usize = 64;

/// Writes that are answered before the database has them. Cheap to clone.
#[derive(Clone)]
pub(super) struct Behind(Arc<Inner>);

struct Inner {
    writer: Writer,
    spool: Spool,
    /// No two spools have the same, however often a folder is emptied.
    name: String,
    overlay: Overlay,
    locks: [Mutex<()>; LOCKS],
    /// The database is taken to be away until then.
    away_until: watch::Sender<Option<Moment>>,
    /// Told of every write that waits.
    noted: Notify,
    clock: Clock,
    settled: SettledCounters,
}

struct SettledCounters {
    written: Counter,
    before: Counter,
    conflict: Counter,
}

/// What is known of a link before a write.
type Base = Option<Option<Link>>;

impl Behind {
    /// Takes over what earlier processes have left in the spool.
    pub(super) fn open(writer: &Writer, spool: Spool, clock: &Clock) -> Self {
        describe_counter!("shortlink_writes_settled_total", "Writes that were accepted first, by what became of them");
        let settled = |outcome| counter!("shortlink_writes_settled_total", "outcome" => outcome);
        let overlay = Overlay::default();
        let mut name = None;
        let left = spool.pending(record::TOPIC, usize::MAX);
        for spooled in &left {
            if let Ok(waiting) = record::waiting(spooled) {
                overlay.put(waiting.sequence, &waiting.write, None);
                name = Some(waiting.spool);
            }
        }
        if !left.is_empty() {
            info!(writes = left.len(), "writes of an earlier run wait for the database");
        }
        Self(Arc::new(Inner {
            writer: writer.clone(),
            spool,
            // A spool that is empty may be a new one in an old place, whose sequences begin anew.
            name: name.unwrap_or_else(|| format!("{:032x}", rand::random::<u128>())),
            overlay,
            locks: std::array::from_fn(|_| Mutex::default()),
            away_until: watch::Sender::new(None),
            noted: Notify::new(),
            clock: clock.clone(),
            settled: SettledCounters {
                written: settled("written"),
                before: settled("before"),
                conflict: settled("conflict"),
            },
        }))
    }

    /// Whether a write of this link waits.
    pub(super) fn has(&self, code: &str) -> bool {
        self.0.overlay.has(code)
    }

    /// What is known of a link with writes that wait; `None`: none does.
    pub(super) fn pending(&self, code: &str) -> Option<Pending> {
        self.0.overlay.get(code).map(|(pending, _)| pending)
    }

    /// How many writes wait.
    pub(super) fn waiting(&self) -> usize {
        self.0.spool.stats().obligations
    }

    /// Accepts a new link. One without an alias needs a number of the database, unless some are left that were taken before.
    pub(super) async fn create(&self, new: NewLink) -> Result<Link, ServiceError> {
        let alias = new.alias.is_some();
        let code = match new.alias {
            Some(code) => code,
            None => self.next_code().await?,
        };
        let _turn = self.turn(&code).await;
        let base = if alias { self.look(&code).await } else { Some(None) };
        if matches!(base, Some(Some(_))) {
            return Err(StoreError::AliasTaken(code).into());
        }
        let wanted = Wanted::Create { target: new.target, alias, expires_at: new.expires_at.map(whole_ms) };
        let (write, after) = self.note(code, base.or(Some(None)), wanted).await?;
        after.flatten().ok_or(ServiceError::Store(StoreError::AliasTaken(write.code)))
    }

    /// Accepts a change; `None` if there is no such link. Inside it the link as it will be, if that is known.
    pub(super) async fn patch(
        &self,
        code: Code,
        patch: LinkPatch,
        expected: Option<i64>,
    ) -> Result<Option<Option<Link>>, ServiceError> {
        let _turn = self.turn(&code).await;
        let base = self.look(&code).await;
        if !is_there(base.as_ref(), expected)? {
            return Ok(None);
        }
        let (_, after) = self.note(code, base, Wanted::Change { patch, expected }).await?;
        Ok(Some(after.flatten()))
    }

    /// Accepts a deletion; `None` if there is no such link.
    pub(super) async fn delete(&self, code: Code, expected: Option<i64>) -> Result<Option<()>, ServiceError> {
        let _turn = self.turn(&code).await;
        let base = self.look(&code).await;
        if !is_there(base.as_ref(), expected)? {
            return Ok(None);
        }
        self.note(code, base, Wanted::Delete { expected }).await?;
        Ok(Some(()))
    }

    /// Writes a write down, and shows it from then on. Answers what the link will be, if that is known.
    async fn note(&self, code: Code, base: Base, wanted: Wanted) -> Result<(NotedWrite, Base), ServiceError> {
        let at = self.0.writer.now();
        let waiting = self.0.overlay.get(code.as_str()).map(|(_, version)| version);
        let link = base.as_ref().and_then(Option::as_ref);
        let version = version_after(link.map(|link| link.version).max(waiting), at);
        let write = NotedWrite { code, version, at, made_at: link.map(|link| link.created_at), wanted };
        let sequence = self.0.spool.append(record::obligation(&self.0.name, &write)).await?;
        let after = base.clone().map(|base| overlay::applied(base.map(Box::new), &write).map(|link| *link));
        self.0.overlay.put(sequence, &write, base);
        self.0.noted.notify_one();
        Ok((write, after))
    }

    /// What the link is: as the writes that wait leave it, else as the database has it. `None`: nobody knows now.
    async fn look(&self, code: &Code) -> Base {
        match self.pending(code.as_str()) {
            Some(Pending::Known(link)) => return Some(link.map(|link| *link)),
            Some(Pending::Changes(_)) => return None,
            None => {}
        }
        if self.0.away_until.borrow().is_some_and(|until| self.0.clock.now() < until) {
            return None;
        }
        if let Ok(Ok(link)) = self.0.clock.timeout(LOOK_MAX, self.0.writer.find(code)).await {
            return Some(link);
        }
        warn!("the database cannot be looked at; writes are accepted unseen");
        self.0.away_until.send_replace(Some(self.0.clock.now() + AWAY));
        None
    }

    async fn next_code(&self) -> Result<Code, ServiceError> {
        let code = self.0.clock.timeout(super::READ_PATIENCE, self.0.writer.next_code()).await;
        code.map_err(|_| ServiceError::ReadSlow)?.map_err(|error| match error {
            error if error.is_retryable() => ServiceError::NoNumber(error),
            error => error.into(),
        })
    }

    async fn turn(&self, code: &Code) -> tokio::sync::MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        code.hash(&mut hasher);
        let place = usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or(0);
        self.0.locks[place].lock().await
    }
}

/// The link with changes that wait.
pub(super) fn on_top(link: Option<Link>, changes: &[NotedWrite]) -> Option<Link> {
    let changed = changes.iter().fold(link.map(Box::new), overlay::applied);
    changed.map(|link| *link)
}

/// Whether the link is there, as far as that is known.
fn is_there(base: Option<&Option<Link>>, expected: Option<i64>) -> Result<bool, StoreError> {
    match base {
        Some(None) => Ok(false),
        Some(Some(link)) if expected.is_some_and(|version| version != link.version) => {
            Err(StoreError::VersionConflict { current: link.version })
        }
        _ => Ok(true),
    }
}
