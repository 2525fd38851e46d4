//! [`Service`]: the use cases. What HTTP, the page and the import call; no SQL and no HTTP in here.

mod background;
mod behind;
mod draft;
mod ends;
mod error;
mod follow;
mod near;
mod redirects;

pub(crate) use draft::sentence;
pub use draft::{Draft, DraftPatch, Refusal};
pub use error::ServiceError;
pub use near::Near;
pub use redirects::{Destination, LOADS_MAX};
pub use web::Consistency;

use crate::domain::{Code, Link, Page, PageRequest, TargetRules};
use crate::store::{Committed, ImportLog, ImportRow, RowOutcome, Store, StoreError, Writer};
use behind::{Behind, Pending};
use draft::Check;
use ends::Ends;
use evenkeel::Keel;
use evenkeel::cache::CacheError;
use evenkeel::clock::Clock;
use evenkeel::queue::QueueError;
use evenkeel::spool::Spool;
use follow::Followers;
use jiff::Timestamp;
use redirects::Redirects;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// How long somebody waits for the database to answer a question.
const READ_PATIENCE: Duration = Duration::from_secs(10);

/// How long somebody waits to hear what became of a write. It goes on behind their back.
const WRITE_PATIENCE: Duration = Duration::from_secs(15);

/// The service: links in a store, a cache before it, and the rules for what may become a link. Cheap to clone.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    writer: Writer,
    redirects: Redirects,
    ends: Ends,
    /// Where writes are answered before the database has them.
    behind: Option<Behind>,
    keel: Keel,
    rules: TargetRules,
    clock: Clock,
    /// Writes that were begun. Each runs in its own task: a client that hangs up must not leave one half done.
    writes: TaskTracker,
}

/// How a service shall work.
#[derive(Debug)]
pub struct Settings {
    /// Links to keep at hand.
    pub near: Near,
    /// No redirect is older than the last write that was answered, and no write begins that the cache has not confirmed.
    pub is_strong: bool,
    /// What a target must be.
    pub rules: TargetRules,
    /// Answer writes once they are in here, before the database has them.
    pub behind: Option<Spool>,
}

/// A write that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<T> {
    /// What it made.
    pub value: T,
    /// Who knows of it by now.
    pub consistency: Consistency,
    /// Whether it is in the database. If not, it is on this machine's disk, and a worker brings it there.
    pub is_committed: bool,
}

/// Why a service cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its cache cannot.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Its queue cannot.
    #[error(transparent)]
    Queue(#[from] QueueError),
}

/// Where a code leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Here.
    Leads(Arc<Destination>),
    /// Nowhere any more.
    Expired,
    /// Nowhere until its ban is lifted.
    Banned,
    /// Nowhere: there is no such link.
    Unknown,
}

impl Service {
    /// A service over `store`, with its cache and the jobs of links that end where `keel` has its own: in Redis, or in this
    /// process.
    ///
    /// # Errors
    /// [`OpenError`]: `keel` has a cache of this service already, cannot keep links near that it must, or cannot be asked.
    pub async fn open(store: Store, keel: Keel, settings: Settings, clock: Clock) -> Result<Self, OpenError> {
        let service = Self::over(&store, keel, settings, clock)?;
        service.0.ends.open().await?;
        Ok(service)
    }

    /// A service whose database is away: redirects come from its cache, writes that wait for the database are taken, and
    /// everything else fails at once.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn without_database(keel: Keel, settings: Settings, clock: Clock) -> Result<Self, OpenError> {
        Self::over(&Store::away(clock.clone()).await, keel, settings, clock)
    }

    fn over(store: &Store, keel: Keel, settings: Settings, clock: Clock) -> Result<Self, OpenError> {
        let redirects = Redirects::open(&keel, settings.near, settings.is_strong)?;
        let ends = Ends::new(&keel, store, &clock);
        let followers = Followers { redirects: redirects.clone(), ends: ends.clone(), clock: clock.clone() };
        let writer = store.writer(&keel, Arc::new(followers));
        let behind = settings.behind.map(|spool| Behind::open(&writer, spool, &clock));
        let (rules, writes) = (settings.rules, TaskTracker::new());
        Ok(Self(Arc::new(Inner { writer, redirects, ends, behind, keel, rules, clock, writes })))
    }

    /// The links themselves.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.writer
    }

    /// What a target must be.
    #[must_use]
    pub fn rules(&self) -> &TargetRules {
        &self.0.rules
    }

    /// Makes a link. `host` is what the request's `Host` header called this service, to refuse loops.
    ///
    /// # Errors
    /// [`ServiceError`], with the reasons; [`StoreError::AliasTaken`] inside it if the
    /// alias is.
    pub async fn create(&self, draft: &Draft, host: Option<&str>) -> Result<Written<Link>, ServiceError> {
        let new = self.check(host).draft(draft).map_err(ServiceError::Refused)?;
        self.confirmable()?;
        let service = self.clone();
        self.to_the_end(async move {
            match &service.0.behind {
                Some(behind) => Ok(Written::noted(behind.create(new).await?)),
                None => Ok(service.0.writer.create(new).await?.into()),
            }
        })
        .await
    }

    /// The link of `code`, expired or not: from the database, and from the writes of this instance that wait for it. A text that
    /// cannot be a code names no link.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn get(&self, code: &str) -> Result<Option<Link>, ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        let waiting = self.0.behind.as_ref().and_then(|behind| behind.pending(code.as_str()));
        if let Some(Pending::Known(link)) = waiting {
            return Ok(link.map(|link| *link));
        }
        let link = self.bounded(self.store().find(&code)).await?;
        let Some(Pending::Changes(changes)) = waiting else { return Ok(link) };
        Ok(behind::on_top(link, &changes))
    }

    /// Where a visitor of `code` is sent: as the cache has it, else as the database has it. While Redis is away that is the
    /// database, with at most [`LOADS_MAX`] questions at once.
    ///
    /// # Errors
    /// [`ServiceError::Cache`], with the database's error inside it: [`CacheError::loader_error`].
    pub async fn resolve(&self, code: &str) -> Result<(Resolution, Consistency), ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok((Resolution::Unknown, Consistency::Consistent)) };
        // The cache knows nothing of writes that wait.
        let (found, consistency) = match self.0.behind.as_ref().and_then(|behind| behind.pending(code.as_str())) {
            None => self.0.redirects.find(&code, self.store()).await?,
            Some(Pending::Known(link)) => (link.map(|link| Arc::new(Destination::from(*link))), Consistency::Eventual),
            Some(Pending::Changes(changes)) => {
                let (found, _) = self.0.redirects.find(&code, self.store()).await?;
                let changed = found.map(|found| Arc::new(changes.iter().fold((*found).clone(), Destination::after)));
                (changed, Consistency::Eventual)
            }
        };
        let resolution = match found {
            None => Resolution::Unknown,
            Some(destination) if destination.banned => Resolution::Banned,
            Some(destination) if destination.expires_at.is_some_and(|end| end <= self.now()) => Resolution::Expired,
            Some(destination) => Resolution::Leads(destination),
        };
        Ok((resolution, consistency))
    }

    /// Where a visitor of `code` is sent, if that is at hand and needs nobody to be asked; it is [`Consistency::Consistent`] then.
    /// A text that cannot be a code is never at hand, nor is what has expired, is banned, or has writes that wait.
    #[must_use]
    pub fn at_hand(&self, code: &str) -> Option<Arc<Destination>> {
        let destination = self.0.redirects.at_hand(code)?;
        let is_over = destination.banned || destination.expires_at.is_some_and(|end| end <= self.now());
        let waits = self.0.behind.as_ref().is_some_and(|behind| behind.has(code));
        (!is_over && !waits).then_some(destination)
    }

    /// Changes a link; `None` if there is none. With `expected`, only if it still has that version. Answers the link as it is
    /// then, if that is known: of a write that waits, the database may not have been there to look.
    ///
    /// # Errors
    /// [`ServiceError`], with the reasons; [`StoreError::VersionConflict`] inside it
    /// if the version is another.
    pub async fn patch(
        &self,
        code: &str,
        patch: &DraftPatch,
        expected: Option<i64>,
        host: Option<&str>,
    ) -> Result<Option<Written<Option<Link>>>, ServiceError> {
        let patch = self.check(host).patch(patch).map_err(ServiceError::Refused)?;
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        self.confirmable()?;
        let service = self.clone();
        self.to_the_end(async move {
            match &service.0.behind {
                Some(behind) => Ok(behind.patch(code, patch, expected).await?.map(Written::noted)),
                None => {
                    let committed = service.0.writer.patch(&code, &patch, expected).await?;
                    Ok(committed.map(|committed| Written::from(committed).map(Some)))
                }
            }
        })
        .await
    }

    /// Deletes a link; `None` if there was none. With `expected`, only if it still has that version.
    ///
    /// # Errors
    /// As [`patch`](Self::patch).
    pub async fn delete(&self, code: &str, expected: Option<i64>) -> Result<Option<Written<()>>, ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        self.confirmable()?;
        let service = self.clone();
        self.to_the_end(async move {
            match &service.0.behind {
                Some(behind) => Ok(behind.delete(code, expected).await?.map(Written::noted)),
                None => Ok(service.0.writer.delete(&code, expected).await?.map(Written::from)),
            }
        })
        .await
    }

    /// One page of the links, newest first.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn list(&self, request: &PageRequest) -> Result<Page, ServiceError> {
        self.bounded(self.store().list(request)).await
    }

    /// Takes rows of an import, see [`Writer::import`]. They are in the database when this answers, however other writes are
    /// answered.
    ///
    /// # Errors
    /// [`ServiceError::Store`], [`ServiceError::CacheAway`].
    pub async fn import(&self, rows: Vec<ImportRow>) -> Result<Written<Vec<RowOutcome>>, ServiceError> {
        self.confirmable()?;
        let service = self.clone();
        self.to_the_end(async move { Ok(service.0.writer.import(&rows).await?.into()) }).await
    }

    /// The same, together with the checkpoint that `log` answers; see [`Writer::import_logged`].
    ///
    /// # Errors
    /// As [`import`](Self::import).
    pub async fn import_logged(
        &self,
        rows: &[ImportRow],
        log: &mut dyn ImportLog,
    ) -> Result<Written<Vec<RowOutcome>>, ServiceError> {
        self.confirmable()?;
        Ok(self.0.writer.import_logged(rows, log).await?.into())
    }

    /// How many writes wait for the database; `None` where they are written before they are answered.
    #[must_use]
    pub fn writes_waiting(&self) -> Option<usize> {
        self.0.behind.as_ref().map(Behind::waiting)
    }

    /// What can be said of Redis: `up`, `down`, or `embedded` where there is none.
    #[must_use]
    pub fn redis_state(&self) -> &'static str {
        match self.0.keel.link().map(|link| link.state().borrow().is_up()) {
            None => "embedded",
            Some(true) => "up",
            Some(false) => "down",
        }
    }

    /// Now, as the service sees it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let ms = i64::try_from(self.0.clock.unix_ms()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
    }

    /// Waits until every write that was begun has ended. Stop those who begin new ones first.
    pub async fn writes_ended(&self) {
        self.0.writes.close();
        self.0.writes.wait().await;
    }

    /// A write whose cache cannot confirm it is refused before it begins.
    fn confirmable(&self) -> Result<(), ServiceError> {
        let is_away = self.0.redirects.is_strong() && self.redis_state() == "down";
        if is_away { Err(ServiceError::CacheAway) } else { Ok(()) }
    }

    fn check<'a>(&'a self, host: Option<&'a str>) -> Check<'a> {
        Check { rules: self.rules(), host, now: self.now() }
    }

    /// Runs a write to its end even if nobody waits for it any more.
    async fn to_the_end<T: Send + 'static>(
        &self,
        write: impl Future<Output = Result<T, ServiceError>> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let task = self.0.writes.spawn(write.in_current_span());
        self.0.clock.timeout(WRITE_PATIENCE, task).await.map_err(|_| ServiceError::WriteSlow)??
    }

    /// A read that the visitor is ready to wait for.
    async fn bounded<T>(&self, read: impl Future<Output = Result<T, StoreError>>) -> Result<T, ServiceError> {
        Ok(self.0.clock.timeout(READ_PATIENCE, read).await.map_err(|_| ServiceError::ReadSlow)??)
    }
}

impl<T> Written<T> {
    /// On this machine's disk.
    fn noted(value: T) -> Self {
        Self { value, consistency: Consistency::Eventual, is_committed: false }
    }

    fn map<U>(self, change: impl FnOnce(T) -> U) -> Written<U> {
        let Self { value, consistency, is_committed } = self;
        Written { value: change(value), consistency, is_committed }
    }
}

impl<T> From<Committed<T>> for Written<T> {
    fn from(committed: Committed<T>) -> Self {
        let consistency = if committed.is_followed { Consistency::Consistent } else { Consistency::Eventual };
        Self { value: committed.value, consistency, is_committed: true }
    }
}
