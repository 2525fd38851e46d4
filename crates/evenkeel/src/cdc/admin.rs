//! What operators see and do: the state of a source, pause and resume, parked keys.

use super::error::CdcError;
use super::reader::Rows;
use crate::sql::database::Pool;
use evenkeel_link::clock::UnixMs;
use futures_util::future::BoxFuture;
use std::time::Duration;

/// The operator's handle on the capture of one source; created by [`Keel::cdc_admin`](crate::Keel::cdc_admin). Needs no source.
#[derive(Clone)]
pub struct CaptureAdmin {
    rows: Rows,
}

/// What is recorded of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// `new`, `streaming`, `waiting` (for a server, or for a commit to be visible), `gap` or `refused`.
    pub state: String,
    /// Why, if it is not `streaming`; or the gap after which it streams.
    pub cause: Option<String>,
    /// The position of the checkpoint; `None` before the first one.
    pub position: Option<String>,
    /// When it was saved, by the database's clock.
    pub saved_at: Option<UnixMs>,
    /// How often a process became the reader.
    pub fence: u64,
    /// What is left of the reader's lease; zero if there is none.
    pub lease_left: Duration,
    /// Whether an operator has paused it.
    pub is_paused: bool,
}

/// A key whose changes are skipped because the function of its rule failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parked {
    /// The name of the rule.
    pub rule: String,
    /// The key.
    pub key: Vec<u8>,
    /// The position of the checkpoint with which it was parked.
    pub position: String,
    /// The error of the last attempt.
    pub error: String,
    /// When, by the database's clock.
    pub parked_at: UnixMs,
}

impl CaptureAdmin {
    pub(crate) fn new(pool: Pool, name: &str) -> Self {
        Self { rows: Rows { pool, name: name.into() } }
    }

    /// What is recorded of the source; `None` if no reader has run yet.
    ///
    /// # Errors
    /// [`CdcError::Sql`].
    pub fn status(&self) -> BoxFuture<'_, Result<Option<Status>, CdcError>> {
        Box::pin(async move {
            let row = self.rows.read().await?;
            Ok(row.map(|row| Status {
                state: row.state,
                cause: row.cause,
                position: row.checkpoint.map(|checkpoint| checkpoint.position),
                saved_at: row.saved_at_ms.map(UnixMs),
                fence: row.fence,
                lease_left: row.lease_left,
                is_paused: row.is_paused,
            }))
        })
    }

    /// Stops the effects of the source until [`resume`](Self::resume): the reader notices within a third of its lease, and finishes what it
    /// has read. Meanwhile caches may serve what changes made old. Returns false if no reader has run yet.
    ///
    /// # Errors
    /// [`CdcError::Sql`]; the call may be repeated.
    pub fn pause(&self) -> BoxFuture<'_, Result<bool, CdcError>> {
        Box::pin(async move { Ok(self.rows.set_paused(true).await?) })
    }

    /// Ends a pause. What was changed meanwhile is read from the log, if the source has kept it.
    ///
    /// # Errors
    /// [`CdcError::Sql`]; the call may be repeated.
    pub fn resume(&self) -> BoxFuture<'_, Result<bool, CdcError>> {
        Box::pin(async move { Ok(self.rows.set_paused(false).await?) })
    }

    /// The parked keys, at most `limit`, those parked longest first.
    ///
    /// # Errors
    /// [`CdcError::Sql`].
    pub fn parked(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Parked>, CdcError>> {
        Box::pin(async move {
            let rows = self.rows.parked(limit).await?;
            let parked = rows.into_iter().map(|row| Parked {
                rule: row.rule,
                key: row.key,
                position: row.position,
                error: row.error,
                parked_at: UnixMs(row.parked_at_ms),
            });
            Ok(parked.collect())
        })
    }

    /// Releases a parked key: its next change reaches the function again, once the reader has noticed (within a third of its lease).
    /// Returns false if it is not parked.
    ///
    /// **Not guaranteed.** That the function is called for the changes that were skipped: bring what it maintains up to date yourself,
    /// after this call has returned.
    ///
    /// # Errors
    /// [`CdcError::Sql`]; the call may be repeated.
    pub fn release<'a>(&'a self, rule: &'a str, key: &'a [u8]) -> BoxFuture<'a, Result<bool, CdcError>> {
        Box::pin(async move { Ok(self.rows.unpark(rule, key).await?) })
    }
}
