//! The update windows of strong caches: open before the commit is sent, closed once its outcome is known.

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

/// The rows of one strong cache that a work changes.
pub(super) struct Wanted {
    cache: CacheOfWork,
    keys: Vec<Bytes>,
    version: Option<u64>,
}

impl Wanted {
    /// Notes a row once.
    pub(super) fn add(wanted: &mut Vec<Self>, cache: CacheOfWork, effect: &Invalidate) {
        // A window has one version for all of its rows, so each version has a window.
        let same = |wanted: &&mut Self| wanted.cache.name == cache.name && wanted.version == effect.demand.floor;
        match wanted.iter_mut().find(same) {
            Some(wanted) if wanted.keys.contains(&effect.key) => {}
            Some(wanted) => wanted.keys.push(effect.key.clone()),
            None => wanted.push(Self { cache, keys: vec![effect.key.clone()], version: effect.demand.floor }),
        }
    }
}

/// The windows of one work. Dropped, they are left to lapse: the transaction may still commit.
pub(super) struct Windows(Vec<(WriteWindow, Option<u64>)>);

impl Windows {
    /// Opens a window for each cache, under the name of the work, or none.
    pub(super) async fn open(work: WorkId, wanted: Vec<Wanted>) -> Result<Self, SqlError> {
        let mut opened = Self(Vec::with_capacity(wanted.len()));
        for Wanted { cache, keys, version } in wanted {
            match cache.open.open_window(Token::from(work.0), keys).await {
                Ok(window) => opened.0.push((window, version)),
                Err(error) if guard("window_before_commit") => {
                    opened.end().await;
                    return Err(SqlError::Window(error));
                }
                Err(error) => tracing::warn!(%error, "a window that could not be opened is ignored"),
            }
        }
        Ok(opened)
    }

    /// Whether all of them are still open, right before the commit.
    pub(super) async fn check(&self) -> Result<(), SqlError> {
        for (window, _) in &self.0 {
            window.check().await.map_err(SqlError::Window)?;
        }
        Ok(())
    }

    /// Keeps them open for as long as this is polled. It never ends.
    pub(super) async fn keep_open(&self) -> Infallible {
        join_all(self.0.iter().map(|(window, _)| window.keep_open())).await;
        pending().await
    }

    /// The outcome is known: closes them, and invalidates. The first end that is not `Closed` is told.
    pub(super) async fn end(self) -> Option<WindowEnd> {
        let mut told: Option<WindowEnd> = None;
        for (window, version) in self.0 {
            let end = match version {
                Some(version) => window.end_at(version).await,
                None => window.end().await,
            };
            if told.as_ref().is_none_or(WindowEnd::is_closed) {
                told = Some(end);
            }
        }
        told
    }

    /// Nobody knows the outcome: they are left to lapse.
    pub(super) fn abandon(self) {
        self.0.into_iter().for_each(|(window, _)| window.abandon());
    }
}
