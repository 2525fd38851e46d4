//! [`Service`]: the use cases. What HTTP, the page and the import call; no SQL and no HTTP in here.

mod consistency;
mod draft;
mod error;

pub use consistency::Consistency;
pub(crate) use draft::sentence;
pub use draft::{Draft, DraftPatch, Refusal};
pub use error::ServiceError;

use crate::domain::{Code, Link, Page, PageRequest, TargetRules};
use crate::store::{Checkpoint, ImportRow, RowOutcome, Store};
use draft::Check;
use evenkeel::clock::Clock;
use jiff::Timestamp;
use std::future::Future;
use std::sync::Arc;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// The service: links in a store, a cache before it, and the rules for what may become a link. Cheap to clone.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    store: Store,
    rules: TargetRules,
    clock: Clock,
    /// Writes that were begun. Each runs in its own task: a client that hangs up between the commit and the invalidation must
    /// not leave the entry from before the commit behind.
    writes: TaskTracker,
}

/// Where a code leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// To this address.
    Leads {
        /// The address, byte for byte.
        target: String,
        /// When it ends; `None`: never.
        expires_at: Option<Timestamp>,
    },
    /// Nowhere any more.
    Expired,
    /// Nowhere: there is no such link.
    Unknown,
}

impl Service {
    /// A service over `store`.
    #[must_use]
    pub fn new(store: Store, rules: TargetRules, clock: Clock) -> Self {
        Self(Arc::new(Inner { store, rules, clock, writes: TaskTracker::new() }))
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
    /// [`ServiceError`], with the reasons; [`StoreError::AliasTaken`](crate::store::StoreError::AliasTaken) inside it if the
    /// alias is.
    pub async fn create(&self, draft: &Draft, host: Option<&str>) -> Result<(Link, Consistency), ServiceError> {
        let new = self.check(host).draft(draft).map_err(ServiceError::Refused)?;
        let service = self.clone();
        self.to_the_end(async move {
            let link = service.store().create(new).await?;
            // The cache may know that there was no such link.
            let consistency = service.invalidate(&link.code).await;
            Ok((link, consistency))
        })
        .await
    }

    /// The link of `code`, expired or not, from the database. A text that cannot be a code names no link.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn get(&self, code: &str) -> Result<Option<Link>, ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        Ok(self.store().find(&code).await?)
    }

    /// Where a visitor of `code` is sent.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn resolve(&self, code: &str) -> Result<(Resolution, Consistency), ServiceError> {
        let resolution = match self.get(code).await? {
            None => Resolution::Unknown,
            Some(link) if link.is_expired(self.now()) => Resolution::Expired,
            Some(link) => Resolution::Leads { target: link.target.as_str().to_owned(), expires_at: link.expires_at },
        };
        Ok((resolution, Consistency::Consistent))
    }

    /// Changes a link; `None` if there is none. With `expected`, only if it still has that version.
    ///
    /// # Errors
    /// [`ServiceError`], with the reasons; [`StoreError::VersionConflict`](crate::store::StoreError::VersionConflict) inside it
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
            let Some(link) = service.store().patch(&code, patch, expected).await? else { return Ok(None) };
            let consistency = service.invalidate(&code).await;
            Ok(Some((link, consistency)))
        })
        .await
    }

    /// Deletes a link; `None` if there was none.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn delete(&self, code: &str) -> Result<Option<Consistency>, ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        let service = self.clone();
        self.to_the_end(async move {
            let found = service.store().delete(&code).await?;
            Ok(if found { Some(service.invalidate(&code).await) } else { None })
        })
        .await
    }

    /// One page of the links, newest first.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn list(&self, request: &PageRequest) -> Result<Page, ServiceError> {
        Ok(self.store().list(request).await?)
    }

    /// Takes rows of an import, see [`Store::import`].
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn import(
        &self,
        rows: Vec<ImportRow>,
        checkpoint: Option<Checkpoint>,
    ) -> Result<(Vec<RowOutcome>, Consistency), ServiceError> {
        let service = self.clone();
        self.to_the_end(async move {
            let outcomes = service.store().import(&rows, checkpoint.as_ref()).await?;
            let mut consistency = Consistency::Consistent;
            for outcome in &outcomes {
                if let RowOutcome::Created(code) = outcome {
                    consistency = consistency.and(service.invalidate(code).await);
                }
            }
            Ok((outcomes, consistency))
        })
        .await
    }

    /// What can be said of Redis: `up`, `down`, or `embedded` where there is none.
    #[must_use]
    pub fn redis_state(&self) -> &'static str {
        "embedded"
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
        self.0.writes.spawn(write.in_current_span()).await?
    }

    #[expect(clippy::unused_async, reason = "the cache comes with the next step")]
    async fn invalidate(&self, _code: &Code) -> Consistency {
        Consistency::Consistent
    }
}
