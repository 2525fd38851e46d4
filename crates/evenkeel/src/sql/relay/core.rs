//! What the loops of one relay share.

use super::metrics::RelayMetrics;
use super::settings::Settings;
use super::source;
use crate::keel::Keel;
use crate::sql::database::Database;
use crate::sql::error::SqlError;
use crate::sql::sink::Sinks;
use evenkeel_link::clock::Clock;
use parking_lot::Mutex;
use sqlx::Pool;
use sqlx::pool::PoolConnection;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What the loops of one relay share.
pub(super) struct Core<DB: Database> {
    pub(super) keel: Keel,
    pub(super) pool: Pool<DB>,
    pub(super) sinks: Sinks,
    pub(super) settings: Settings,
    pub(super) metrics: RelayMetrics,
    pub(super) source: OnceLock<Arc<str>>,
    /// Topics without a sink that were logged.
    pub(super) unrouted: Mutex<HashSet<String>>,
}

/// What one look at the outbox came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Works whose effects were carried out.
    pub carried: usize,
    /// Ordered messages that a sink has confirmed.
    pub sent: usize,
    /// Works and keys that failed, and are tried again.
    pub failed: usize,
    /// Works and keys that nobody was there to take: no attempt was counted.
    pub waiting: usize,
    /// Of those that wait, the works and keys whose topic no sink of this program takes.
    pub unrouted: usize,
    /// Works and keys that were parked.
    pub parked: usize,
    /// Deliveries that somebody else had claimed meanwhile: what was done is done twice.
    pub fenced: usize,
    /// When the next look is worth while, at the latest.
    pub next: Duration,
}

impl Looked {
    /// Nothing to do for so long.
    pub(super) fn idle(next: Duration) -> Self {
        Self { next, ..Self::default() }
    }

    /// Whether there was nothing to do: a loop of your own may pause for [`next`](Self::next).
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.carried + self.sent + self.failed + self.waiting + self.parked + self.fenced == 0
    }

    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            carried: self.carried + other.carried,
            sent: self.sent + other.sent,
            failed: self.failed + other.failed,
            waiting: self.waiting + other.waiting,
            unrouted: self.unrouted + other.unrouted,
            parked: self.parked + other.parked,
            fenced: self.fenced + other.fenced,
            next: self.next.min(other.next),
        }
    }
}

impl<DB: Database> Core<DB> {
    pub(super) fn clock(&self) -> &Clock {
        self.keel.clock()
    }

    /// A topic has no sink here: said once, for it is met again and again.
    pub(super) fn note_unrouted(&self, topic: &str) {
        /// More than a program has; what comes after is counted and listed, and not logged.
        const TOPICS_MAX: usize = 1_000;
        let mut logged = self.unrouted.lock();
        if logged.len() < TOPICS_MAX && logged.insert(topic.to_owned()) {
            let parked_after = self.settings.unrouted_max;
            tracing::warn!(
                topic,
                ?parked_after,
                "no sink of this program takes the topic; its messages wait for a program that has one"
            );
        }
    }

    /// A connection, for a moment.
    pub(super) async fn connection(&self) -> Result<PoolConnection<DB>, SqlError> {
        self.within(async { self.pool.acquire().await }).await
    }

    /// Runs one step on the database within the deadline.
    pub(super) async fn within<T>(
        &self,
        step: impl Future<Output = Result<T, sqlx::Error>> + Send,
    ) -> Result<T, SqlError> {
        match self.clock().timeout(self.settings.deadline, step).await {
            Ok(answer) => answer.map_err(SqlError::of::<DB>),
            Err(_) => Err(SqlError::Busy("the database did not answer in time; the relay tries again")),
        }
    }

    /// The name of this outbox.
    pub(super) async fn source(&self, connection: &mut DB::Connection) -> Result<Arc<str>, SqlError> {
        if let Some(source) = self.source.get() {
            return Ok(Arc::clone(source));
        }
        let source: Arc<str> = self.within(source::of::<DB>(connection)).await?.into();
        // Somebody may have set it meanwhile: to the same name.
        let _ = self.source.set(Arc::clone(&source));
        Ok(source)
    }
}
