//! [`Service`]: the use cases. What HTTP, the page and the import call; no SQL and no HTTP in here.

mod draft;
mod ends;
mod error;
mod near;
mod redirects;

pub(crate) use draft::sentence;
pub use draft::{Draft, DraftPatch, Refusal};
pub use error::ServiceError;
pub use near::Near;
pub use redirects::{Destination, LOADS_MAX};
pub use web::Consistency;

use crate::domain::{Code, Link, Page, PageRequest, TargetRules};
use crate::store::{ImportRow, RowOutcome, Store, StoreError};
use draft::Check;
use ends::Ends;
use evenkeel::Keel;
use evenkeel::cache::CacheError;
use evenkeel::clock::Clock;
use evenkeel::queue::QueueError;
use futures_util::future::join_all;
use jiff::Timestamp;
use redirects::Redirects;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;
use tracing::{Instrument, warn};

/// How long somebody waits for the database to answer a question.
const READ_PATIENCE: Duration = Duration::from_secs(10);

/// How long somebody waits to hear what became of a write. It goes on behind their back.
const WRITE_PATIENCE: Duration = Duration::from_secs(15);

/// The service: links in a store, a cache before it, and the rules for what may become a link. Cheap to clone.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    store: Store,
    redirects: Redirects,
    ends: Ends,
    keel: Keel,
    rules: TargetRules,
    clock: Clock,
    /// Writes that were begun. Each runs in its own task: a client that hangs up between the commit and the invalidation must
    /// not leave the entry from before the commit behind.
    writes: TaskTracker,
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
    /// Nowhere: there is no such link.
    Unknown,
}

impl Service {
    /// A service over `store`, with its cache and the jobs of links that end where `keel` has its own: in Redis, or in this
    /// process.
    ///
    /// # Errors
    /// [`OpenError`]: `keel` has a cache of this service already, cannot keep links near that it must, or cannot be asked.
    pub async fn open(
        store: Store,
        keel: Keel,
        near: Near,
        rules: TargetRules,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        let redirects = Redirects::open(&keel, near)?;
        let ends = Ends::open(&keel).await?;
        Ok(Self(Arc::new(Inner { store, redirects, ends, keel, rules, clock, writes: TaskTracker::new() })))
    }

    /// Switches links off when they end, until `shutdown`; first it looks for those whose job was lost. Any number of instances
    /// may do so at once: each job is done by one of them.
    ///
    /// # Errors
    /// [`QueueError`]: the connection was closed for good.
    pub async fn switch_off(&self, shutdown: impl Future<Output = ()> + Send) -> Result<(), QueueError> {
        let Inner { store, redirects, ends, clock, .. } = &*self.0;
        ends.clone().run(store.clone(), redirects.clone(), clock.clone(), shutdown).await
    }

    /// The links themselves.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
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
    pub async fn create(&self, draft: &Draft, host: Option<&str>) -> Result<(Link, Consistency), ServiceError> {
        let new = self.check(host).draft(draft).map_err(ServiceError::Refused)?;
        let service = self.clone();
        self.to_the_end(async move {
            let alias = new.alias.clone();
            match (service.store().create(new).await, alias) {
                // The cache may know that there was no such link.
                (Ok(link), _) => {
                    if link.expires_at.is_some() {
                        service.0.ends.follow(&link).await;
                    }
                    let consistency = service.0.redirects.forget(&link.code).await;
                    Ok((link, consistency))
                }
                (Err(error), Some(alias)) if error.outcome_unknown() => {
                    service.0.redirects.forget(&alias).await;
                    Err(error.into())
                }
                (Err(error), _) => Err(error.into()),
            }
        })
        .await
    }

    /// The link of `code`, expired or not, from the database. A text that cannot be a code names no link.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn get(&self, code: &str) -> Result<Option<Link>, ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        self.bounded(self.store().find(&code)).await
    }

    /// Where a visitor of `code` is sent: as the cache has it, else as the database has it. While Redis is away that is the
    /// database, with at most [`LOADS_MAX`] questions at once.
    ///
    /// # Errors
    /// [`ServiceError::Cache`], with the database's error inside it: [`CacheError::loader_error`].
    pub async fn resolve(&self, code: &str) -> Result<(Resolution, Consistency), ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok((Resolution::Unknown, Consistency::Consistent)) };
        let (found, consistency) = self.0.redirects.find(&code, self.store()).await?;
        let resolution = match found {
            None => Resolution::Unknown,
            Some(destination) if destination.expires_at.is_some_and(|end| end <= self.now()) => Resolution::Expired,
            Some(destination) => Resolution::Leads(destination),
        };
        Ok((resolution, consistency))
    }

    /// Where a visitor of `code` is sent, if that is at hand and needs nobody to be asked; it is [`Consistency::Consistent`] then.
    /// A text that cannot be a code is never at hand, nor is what has expired.
    #[must_use]
    pub fn at_hand(&self, code: &str) -> Option<Arc<Destination>> {
        let destination = self.0.redirects.at_hand(code)?;
        let is_over = destination.expires_at.is_some_and(|end| end <= self.now());
        (!is_over).then_some(destination)
    }

    /// Changes a link; `None` if there is none. With `expected`, only if it still has that version.
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
    ) -> Result<Option<(Link, Consistency)>, ServiceError> {
        let patch = self.check(host).patch(patch).map_err(ServiceError::Refused)?;
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        let service = self.clone();
        self.to_the_end(async move {
            let is_about_its_end = patch.expires_at.is_some();
            let patched = service.store().patch(&code, patch, expected).await;
            if let Ok(Some(link)) = &patched
                && is_about_its_end
            {
                service.0.ends.follow(link).await;
            }
            service.told(&code, patched).await
        })
        .await
    }

    /// Deletes a link; `None` if there was none. With `expected`, only if it still has that version.
    ///
    /// # Errors
    /// [`ServiceError::Store`]; [`StoreError::VersionConflict`] inside it if the version is another.
    pub async fn delete(&self, code: &str, expected: Option<i64>) -> Result<Option<Consistency>, ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        let service = self.clone();
        self.to_the_end(async move {
            let deleted = service.store().delete(&code, expected).await.map(|found| found.then_some(()));
            if let Ok(Some(())) = &deleted {
                service.0.ends.forget(&code).await;
            }
            Ok(service.told(&code, deleted).await?.map(|((), consistency)| consistency))
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

    /// Takes rows of an import, see [`Store::import`].
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn import(&self, rows: Vec<ImportRow>) -> Result<(Vec<RowOutcome>, Consistency), ServiceError> {
        let service = self.clone();
        self.to_the_end(async move {
            let outcomes = service.store().import(&rows).await?;
            service.watch_imported(&rows, &outcomes).await;
            let consistency = service.tell_cache(&outcomes).await;
            Ok((outcomes, consistency))
        })
        .await
    }

    /// Has the links switched off that an import made and that end. What it misses is found when an instance starts.
    async fn watch_imported(&self, rows: &[ImportRow], outcomes: &[RowOutcome]) {
        let made = rows.iter().zip(outcomes).filter_map(|(row, outcome)| match outcome {
            RowOutcome::Created(code) if row.expires_at.is_some() => Some(code.clone()),
            _ => None,
        });
        let made: Vec<Code> = made.collect();
        if made.is_empty() {
            return;
        }
        match self.store().find_many(&made).await {
            Ok(links) => {
                for link in &links {
                    self.0.ends.follow(link).await;
                }
            }
            Err(error) => warn!(%error, "cannot look at imported links that end; their end is still checked on read"),
        }
    }

    /// Tells the cache of the links that an import made: it may know that there were none.
    pub async fn tell_cache(&self, outcomes: &[RowOutcome]) -> Consistency {
        let made = outcomes.iter().filter_map(|outcome| match outcome {
            RowOutcome::Created(code) => Some(self.0.redirects.forget(code)),
            RowOutcome::Present | RowOutcome::Taken(_) => None,
        });
        join_all(made).await.into_iter().fold(Consistency::Consistent, Consistency::and)
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

    /// Tells the cache what the database did to `code`. It is told as well if the database did not say: it may have happened.
    async fn told<T>(
        &self,
        code: &Code,
        written: Result<Option<T>, StoreError>,
    ) -> Result<Option<(T, Consistency)>, ServiceError> {
        match written {
            Ok(Some(row)) => Ok(Some((row, self.0.redirects.forget(code).await))),
            Ok(None) => Ok(None),
            Err(error) => {
                if error.outcome_unknown() {
                    self.0.redirects.forget(code).await;
                }
                Err(error.into())
            }
        }
    }
}
