//! [`Service`]: the use cases, without SQL and HTTP.

mod background;
mod clicks;
mod draft;
mod effects;
mod error;
mod expiry;
mod near;
mod redirects;
mod write_behind;

pub use draft::{Draft, DraftPatch, InvalidField};
pub use error::ServiceError;
pub use near::NearCache;
pub use redirects::{CachedLink, LOADS_MAX};
pub use web::Consistency;

use crate::domain::{Code, Link, Page, PageRequest, TargetRules};
use crate::store::{Committed, ImportLog, ImportRow, RowOutcome, Store, StoreError, Writer};
use clicks::Clicks;
use draft::Check;
use effects::LinkEffects;
use evenkeel::Keel;
use evenkeel::cache::CacheError;
use evenkeel::clock::Clock;
use evenkeel::link::{Link as RedisLink, LinkState};
use evenkeel::queue::QueueError;
use evenkeel::spool::Spool;
use evenkeel::stream::StreamError;
use expiry::ExpiryJobs;
use jiff::Timestamp;
use redirects::Redirects;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use tracing::Instrument;
use web::{signed, timestamp};
use write_behind::{Pending, WriteBehind};

/// Timeout of a read.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a caller waits for a write. The write itself goes on after that.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);

/// The service: a store of links, the cache in front of it, and the rules for targets. Cheap to clone.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    writer: Writer,
    redirects: Redirects,
    expiry: ExpiryJobs,
    /// With `--write-mode behind`.
    write_behind: Option<WriteBehind>,
    /// With `--clicks on`.
    clicks: Option<Clicks>,
    /// The connection to Redis; `None` if none is configured.
    redis: Option<watch::Receiver<LinkState>>,
    rules: TargetRules,
    clock: Clock,
    /// Writes in progress. Each runs in its own task, so that a client that hangs up does not cancel it halfway.
    writes: TaskTracker,
}

/// Settings of a [`Service`].
#[derive(Debug)]
pub struct Settings {
    /// The near cache.
    pub near: NearCache,
    /// Strong consistency: no redirect is older than the last acknowledged write, and a write begins only once Redis has confirmed it.
    pub is_strong: bool,
    /// The rules for targets.
    pub rules: TargetRules,
    /// Write-behind: acknowledge a write once it is in this spool.
    pub spool: Option<Spool>,
    /// Whether clicks are counted.
    pub clicks: bool,
}

/// An acknowledged write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<T> {
    /// The result.
    pub value: T,
    /// Whether the caches are up to date.
    pub consistency: Consistency,
    /// Whether it is in the database; otherwise it is in the spool, and a worker applies it.
    pub is_committed: bool,
}

/// Errors of opening a service.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The cache cannot be opened.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The queue cannot be opened.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The stream of clicks cannot be opened.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

/// The result of following a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// A link that redirects.
    Found(Arc<CachedLink>),
    /// A link that has expired.
    Expired,
    /// A banned link.
    Banned,
    /// No link has this code.
    Unknown,
}

impl Service {
    /// Opens a service over `store`, with its cache and expiry jobs in the Redis of `keel`, or in this process if it has none.
    ///
    /// # Errors
    /// [`OpenError`]: `keel` already has this service's cache, Redis does not support the near cache that `settings` require, or
    /// the queue cannot be opened.
    pub async fn open(store: Store, keel: Keel, settings: Settings, clock: Clock) -> Result<Self, OpenError> {
        let redis = keel.link().map(RedisLink::state);
        let service = Self::over(&store, &keel, redis, settings, clock).await?;
        service.0.expiry.open().await?;
        Ok(service)
    }

    /// A service whose database is unreachable: redirects come from the cache, `--write-mode behind` accepts writes, and every other
    /// call fails at once. `redis` is the connection to the configured Redis, which `keel` does not use as long as the key prefix is
    /// unknown.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn without_database(
        keel: &Keel,
        redis: Option<watch::Receiver<LinkState>>,
        settings: Settings,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        Self::over(&Store::unreachable(clock.clone()).await, keel, redis, settings, clock).await
    }

    async fn over(
        store: &Store,
        keel: &Keel,
        redis: Option<watch::Receiver<LinkState>>,
        settings: Settings,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        let redirects = Redirects::open(keel, settings.near, settings.is_strong).await?;
        let expiry = ExpiryJobs::new(keel, store, &clock);
        let effects = LinkEffects { redirects: redirects.clone(), expiry: expiry.clone(), clock: clock.clone() };
        let writer = store.writer(keel, Arc::new(effects));
        let write_behind = settings.spool.map(|spool| WriteBehind::open(&writer, spool, &clock));
        let clicks = if settings.clicks { Some(Clicks::open(keel, &clock).await?) } else { None };
        let (rules, writes) = (settings.rules, TaskTracker::new());
        Ok(Self(Arc::new(Inner { writer, redirects, expiry, write_behind, clicks, redis, rules, clock, writes })))
    }

    /// The store, for reads.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.writer
    }

    /// The rules for targets.
    #[must_use]
    pub fn rules(&self) -> &TargetRules {
        &self.0.rules
    }

    /// Creates a link. `host` is the request's `Host` header, to refuse loops.
    ///
    /// # Errors
    /// [`ServiceError`]; a taken alias is [`StoreError::AliasTaken`].
    pub async fn create(&self, draft: &Draft, host: Option<&str>) -> Result<Written<Link>, ServiceError> {
        let new = self.check(host).draft(draft).map_err(ServiceError::Invalid)?;
        self.require_confirmation()?;
        let service = self.clone();
        self.run_to_completion(async move {
            match &service.0.write_behind {
                Some(behind) => Ok(Written::pending(behind.create(new).await?)),
                None => Ok(service.0.writer.create(new).await?.into()),
            }
        })
        .await
    }

    /// The link of `code`, expired or not, from the database and the pending writes of this instance. `None` as well for text that
    /// is not a valid code.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn get(&self, code: &str) -> Result<Option<Link>, ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        let waiting = self.0.write_behind.as_ref().and_then(|behind| behind.pending(code.as_str()));
        if let Some(Pending::Known(link)) = waiting {
            return Ok(link.map(|link| *link));
        }
        let link = self.with_read_timeout(self.store().find(&code)).await?;
        let Some(Pending::Changes(changes)) = waiting else { return Ok(link) };
        Ok(write_behind::on_top(link, &changes))
    }

    /// Follows `code` through the cache. While Redis is unreachable the database answers, with at most [`LOADS_MAX`] concurrent
    /// loads.
    ///
    /// # Errors
    /// [`ServiceError::Cache`]; [`CacheError::loader_error`] has the database's error.
    pub async fn resolve(&self, code: &str) -> Result<(Resolution, Consistency), ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok((Resolution::Unknown, Consistency::Consistent)) };
        // Pending writes are not in the cache.
        let (found, consistency) = match self.0.write_behind.as_ref().and_then(|behind| behind.pending(code.as_str())) {
            None => self.0.redirects.find(&code, self.store()).await?,
            Some(Pending::Known(link)) => (link.map(|link| Arc::new(CachedLink::from(*link))), Consistency::Eventual),
            Some(Pending::Changes(changes)) => {
                let (found, _) = self.0.redirects.find(&code, self.store()).await?;
                let changed = found.map(|found| Arc::new(changes.iter().fold((*found).clone(), CachedLink::after)));
                (changed, Consistency::Eventual)
            }
        };
        let resolution = match found {
            None => Resolution::Unknown,
            Some(link) if link.banned => Resolution::Banned,
            Some(link) if link.expires_at.is_some_and(|end| end <= self.now()) => Resolution::Expired,
            Some(link) => Resolution::Found(link),
        };
        Ok((resolution, consistency))
    }

    /// Follows `code` in the near cache only. `Some` is a link that redirects, and is [`Consistency::Consistent`]; `None` for a link
    /// that is not in the near cache, has expired, is banned, or has pending writes.
    #[must_use]
    pub fn resolve_near(&self, code: &str) -> Option<Arc<CachedLink>> {
        let link = self.0.redirects.find_near(code)?;
        let is_over = link.banned || link.expires_at.is_some_and(|end| end <= self.now());
        let is_pending = self.0.write_behind.as_ref().is_some_and(|behind| behind.has(code));
        (!is_over && !is_pending).then_some(link)
    }

    /// Changes a link; `None` if there is none. With `expected`, only if the link has that version. The inner `Option` is the
    /// changed link; it is `None` for a pending write if the database was unreachable.
    ///
    /// # Errors
    /// [`ServiceError`]; another version is [`StoreError::VersionConflict`].
    pub async fn patch(
        &self,
        code: &str,
        patch: &DraftPatch,
        expected: Option<i64>,
        host: Option<&str>,
    ) -> Result<Option<Written<Option<Link>>>, ServiceError> {
        let patch = self.check(host).patch(patch).map_err(ServiceError::Invalid)?;
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        self.require_confirmation()?;
        let service = self.clone();
        self.run_to_completion(async move {
            match &service.0.write_behind {
                Some(behind) => Ok(behind.patch(code, patch, expected).await?.map(Written::pending)),
                None => {
                    let committed = service.0.writer.patch(&code, &patch, expected).await?;
                    Ok(committed.map(|committed| Written::from(committed).map(Some)))
                }
            }
        })
        .await
    }

    /// Deletes a link; `None` if there was none. With `expected`, only if the link has that version.
    ///
    /// # Errors
    /// As [`patch`](Self::patch).
    pub async fn delete(&self, code: &str, expected: Option<i64>) -> Result<Option<Written<()>>, ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        self.require_confirmation()?;
        let service = self.clone();
        self.run_to_completion(async move {
            match &service.0.write_behind {
                Some(behind) => Ok(behind.delete(code, expected).await?.map(Written::pending)),
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
        self.with_read_timeout(self.store().list(request)).await
    }

    /// Imports rows; see [`Writer::import`]. They are in the database when this returns, in every write mode.
    ///
    /// # Errors
    /// [`ServiceError::Store`], [`ServiceError::RedisUnreachable`].
    pub async fn import(&self, rows: Vec<ImportRow>) -> Result<Written<Vec<RowOutcome>>, ServiceError> {
        self.require_confirmation()?;
        let service = self.clone();
        self.run_to_completion(async move { Ok(service.0.writer.import(&rows).await?.into()) }).await
    }

    /// As [`import`](Self::import), and commits the checkpoint that `log` returns with the rows; see [`Writer::import_logged`].
    ///
    /// # Errors
    /// As [`import`](Self::import).
    pub async fn import_logged(
        &self,
        rows: &[ImportRow],
        log: &mut ImportLog<'_>,
    ) -> Result<Written<Vec<RowOutcome>>, ServiceError> {
        self.require_confirmation()?;
        Ok(self.0.writer.import_logged(rows, log).await?.into())
    }

    /// The number of pending writes; `None` with `--write-mode through`.
    #[must_use]
    pub fn writes_waiting(&self) -> Option<usize> {
        self.0.write_behind.as_ref().map(WriteBehind::waiting)
    }

    /// The state of Redis: `up`, `down`, or `embedded` if none is configured.
    #[must_use]
    pub fn redis_state(&self) -> &'static str {
        match self.0.redis.as_ref().map(|state| state.borrow().is_up()) {
            None => "embedded",
            Some(true) => "up",
            Some(false) => "down",
        }
    }

    /// The current time of the service's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        timestamp(signed(self.0.clock.unix_ms()))
    }

    /// Waits until all writes in progress have ended. Stop accepting requests first.
    pub async fn writes_ended(&self) {
        self.0.writes.close();
        self.0.writes.wait().await;
    }

    /// Refuses a write that Redis would have to confirm (strong consistency) while Redis is unreachable.
    fn require_confirmation(&self) -> Result<(), ServiceError> {
        let is_away = self.0.redirects.is_strong() && self.redis_state() == "down";
        if is_away { Err(ServiceError::RedisUnreachable) } else { Ok(()) }
    }

    fn check<'a>(&'a self, host: Option<&'a str>) -> Check<'a> {
        Check { rules: self.rules(), host, now: self.now() }
    }

    /// Runs a write in its own task: it goes on when the caller is dropped or times out.
    async fn run_to_completion<T: Send + 'static>(
        &self,
        write: impl Future<Output = Result<T, ServiceError>> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let task = self.0.writes.spawn(write.in_current_span());
        self.0.clock.timeout(WRITE_TIMEOUT, task).await.map_err(|_| ServiceError::WriteTimeout)??
    }

    /// Bounds a read by [`READ_TIMEOUT`].
    async fn with_read_timeout<T>(&self, read: impl Future<Output = Result<T, StoreError>>) -> Result<T, ServiceError> {
        Ok(self.0.clock.timeout(READ_TIMEOUT, read).await.map_err(|_| ServiceError::ReadTimeout)??)
    }
}

impl<T> Written<T> {
    /// A write that is in the spool.
    fn pending(value: T) -> Self {
        Self { value, consistency: Consistency::Eventual, is_committed: false }
    }

    fn map<U>(self, change: impl FnOnce(T) -> U) -> Written<U> {
        let Self { value, consistency, is_committed } = self;
        Written { value: change(value), consistency, is_committed }
    }
}

impl<T> From<Committed<T>> for Written<T> {
    fn from(committed: Committed<T>) -> Self {
        let consistency = if committed.effects_done { Consistency::Consistent } else { Consistency::Eventual };
        Self { value: committed.value, consistency, is_committed: true }
    }
}
