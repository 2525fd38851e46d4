//! The update windows of strong caches: opened before the commit is sent, and closed once its outcome is known.

use crate::cache::{CacheOfWork, WindowEnd, WriteWindow};
use crate::sql::error::SqlError;
use crate::sql::outbox::WorkId;
use crate::sql::outbox::effect::Invalidate;
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_link::support::guard;
use futures_util::future::join_all;
use std::convert::Infallible;
use std::future::pending;

/// Whether the end of a window could not be confirmed, so that its invalidations are still pending.
pub(super) fn is_unconfirmed(end: &WindowEnd) -> bool {
    matches!(end, WindowEnd::Unconfirmed(_))
}

/// The rows of one strong cache that a unit of work changes.
pub(super) struct RequestedWindow {
    cache: CacheOfWork,
    keys: Vec<Bytes>,
    version: Option<u64>,
}

impl RequestedWindow {
    /// Adds a row, unless it was added before.
    pub(super) fn add(requested: &mut Vec<Self>, cache: CacheOfWork, effect: &Invalidate) {
        // A window has one version for all its rows, so there is one window per version.
        let same =
            |requested: &&mut Self| requested.cache.name == cache.name && requested.version == effect.demand.floor;
        match requested.iter_mut().find(same) {
            Some(requested) if requested.keys.contains(&effect.key) => {}
            Some(requested) => requested.keys.push(effect.key.clone()),
            None => requested.push(Self { cache, keys: vec![effect.key.clone()], version: effect.demand.floor }),
        }
    }
}

/// The windows of one unit of work. If they are dropped they are left to expire, because the transaction may still commit.
pub(super) struct Windows(Vec<(WriteWindow, Option<u64>)>);

impl Windows {
    /// Opens a window for each cache, with the id of the unit of work as its token; all or none.
    pub(super) async fn open(work: WorkId, requested: Vec<RequestedWindow>) -> Result<Self, SqlError> {
        let mut opened = Self(Vec::with_capacity(requested.len()));
        for RequestedWindow { cache, keys, version } in requested {
            match cache.open.open_window(Token::from(work.0), keys).await {
                Ok(window) => opened.0.push((window, version)),
                Err(error) if guard("window_before_commit") => {
                    opened.end().await;
                    return Err(SqlError::Window(error));
                }
                Err(error) => tracing::warn!(%error, "ignoring a window that could not be opened"),
            }
        }
        Ok(opened)
    }

    /// Checks that all windows are still open, right before the commit.
    pub(super) async fn check(&self) -> Result<(), SqlError> {
        for (window, _) in &self.0 {
            window.check().await.map_err(SqlError::Window)?;
        }
        Ok(())
    }

    /// Keeps the windows open while this future is polled. It never completes.
    pub(super) async fn keep_open(&self) -> Infallible {
        join_all(self.0.iter().map(|(window, _)| window.keep_open())).await;
        pending().await
    }

    /// Closes the windows, which invalidates their rows, once the outcome is known. Returns the first end that is not `Closed`.
    pub(super) async fn end(self) -> Option<WindowEnd> {
        let mut first_failure: Option<WindowEnd> = None;
        for (window, version) in self.0 {
            let end = match version {
                Some(version) => window.end_at(version).await,
                None => window.end().await,
            };
            if first_failure.as_ref().is_none_or(WindowEnd::is_closed) {
                first_failure = Some(end);
            }
        }
        first_failure
    }

    /// Leaves the windows to expire, because the outcome is unknown.
    pub(super) fn abandon(self) {
        self.0.into_iter().for_each(|(window, _)| window.abandon());
    }
}
