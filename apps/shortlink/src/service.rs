//! [`Service`]: the use cases. What HTTP, the page and the import call; no SQL and no HTTP in here.

use crate::domain::{Code, CodeRefused, Link, LinkPatch, NewLink, Page, PageRequest, TargetRefused, TargetRules};
use crate::store::{Checkpoint, ImportRow, RowOutcome, Store, StoreError};
use evenkeel::clock::Clock;
use jiff::Timestamp;
use std::sync::Arc;

/// The service: links in a store, with the rules for what may become one. Cheap to clone.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    store: Store,
    rules: TargetRules,
    clock: Clock,
}

/// Why the service did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The address cannot be the target of a link.
    #[error(transparent)]
    Target(#[from] TargetRefused),
    /// The text cannot be a code.
    #[error(transparent)]
    Code(#[from] CodeRefused),
    /// The link would end before it began.
    #[error("the link would have expired already, at {0}")]
    ExpiryPassed(Timestamp),
    /// The database refused, or cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A link to be made, as somebody wrote it.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Where it shall lead.
    pub target: String,
    /// The code it shall have; `None`: generate one.
    pub alias: Option<String>,
    /// When it shall end.
    pub expires_at: Option<Timestamp>,
}

/// A change, as somebody wrote it; `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct DraftPatch {
    /// Where it shall lead.
    pub target: Option<String>,
    /// `Some(None)`: it shall not end.
    pub expires_at: Option<Option<Timestamp>>,
}

impl Service {
    /// A service over `store`.
    #[must_use]
    pub fn new(store: Store, rules: TargetRules, clock: Clock) -> Self {
        Self(Arc::new(Inner { store, rules, clock }))
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
    /// [`ServiceError`], with the reason; [`StoreError::AliasTaken`] inside it if the alias is.
    pub async fn create(&self, draft: Draft, host: Option<&str>) -> Result<Link, ServiceError> {
        let target = self.0.rules.check(&draft.target, host)?;
        let alias = draft.alias.as_deref().map(Code::alias).transpose()?;
        self.check_expiry(draft.expires_at)?;
        Ok(self.0.store.create(NewLink { alias, target, expires_at: draft.expires_at }).await?)
    }

    /// The link of `code`, expired or not. A text that cannot be a code names no link.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn get(&self, code: &str) -> Result<Option<Link>, ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        Ok(self.0.store.find(&code).await?)
    }

    /// The link a visitor of `code` is sent to: `None` if there is none or it has expired.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn resolve(&self, code: &str) -> Result<Option<Link>, ServiceError> {
        let now = self.now();
        Ok(self.get(code).await?.filter(|link| !link.is_expired(now)))
    }

    /// Changes a link; `None` if there is none. With `expected`, only if it still has that version.
    ///
    /// # Errors
    /// [`ServiceError`], with the reason; [`StoreError::VersionConflict`] inside it if the version is another.
    pub async fn patch(
        &self,
        code: &str,
        patch: DraftPatch,
        expected: Option<i64>,
        host: Option<&str>,
    ) -> Result<Option<Link>, ServiceError> {
        let target = patch.target.map(|target| self.0.rules.check(&target, host)).transpose()?;
        self.check_expiry(patch.expires_at.flatten())?;
        let Ok(code) = Code::parse(code) else { return Ok(None) };
        let patch = LinkPatch { target, expires_at: patch.expires_at };
        Ok(self.0.store.patch(&code, patch, expected).await?)
    }

    /// Deletes a link; answers whether there was one.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn delete(&self, code: &str) -> Result<bool, ServiceError> {
        let Ok(code) = Code::parse(code) else { return Ok(false) };
        Ok(self.0.store.delete(&code).await?)
    }

    /// One page of the links, newest first.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn list(&self, request: &PageRequest) -> Result<Page, ServiceError> {
        Ok(self.0.store.list(request).await?)
    }

    /// Takes rows of an import, see [`Store::import`].
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn import(
        &self,
        rows: &[ImportRow],
        checkpoint: Option<&Checkpoint>,
    ) -> Result<Vec<RowOutcome>, ServiceError> {
        Ok(self.0.store.import(rows, checkpoint).await?)
    }

    /// Now, as the service sees it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let ms = i64::try_from(self.0.clock.unix_ms()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
    }

    fn check_expiry(&self, end: Option<Timestamp>) -> Result<(), ServiceError> {
        match end {
            Some(end) if end <= self.now() => Err(ServiceError::ExpiryPassed(end)),
            _ => Ok(()),
        }
    }
}
