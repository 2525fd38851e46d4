//! The state shared by the tasks of one relay.

use super::metrics::RelayMetrics;
use super::settings::Settings;
use super::source;
use crate::sql::Shared;
use crate::sql::database::{Connection, Pool, PooledConnection, Stores};
use crate::sql::error::SqlError;
use crate::sql::sink::Sinks;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::Recurring;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The state shared by the tasks of one relay.
pub(super) struct Core {
    pub(super) shared: Arc<Shared>,
    pub(super) pool: Pool,
    /// The sinks of the program.
    pub(super) sinks: Sinks,
    /// Those, and the streams of the keel.
    pub(super) routes: Sinks,
    pub(super) settings: Settings,
    pub(super) metrics: RelayMetrics,
    pub(super) source: OnceLock<Arc<str>>,
    /// Known once the settings of the database have been checked.
    pub(super) stores: OnceLock<Stores>,
    /// When a pass last succeeded.
    pub(super) passed: Mutex<Option<Moment>>,
    /// The topics without a sink that were logged.
    pub(super) unrouted: Mutex<HashSet<String>>,
    /// The failures of its loops that were logged.
    pub(super) failing: Recurring,
    /// A step has failed in a way that ends its session: a connection of the pool is closed before the next step. After a failover they
    /// all lead to a server that has become read-only.
    doubts_connection: AtomicBool,
}

/// The result of one pass over the outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassReport {
    /// Units of work whose effects were carried out.
    pub carried: usize,
    /// Ordered messages that a sink has confirmed.
    pub sent: usize,
    /// Units of work and keys that failed and will be retried.
    pub failed: usize,
    /// Units of work and keys whose destination was unavailable: no attempt was counted.
    pub waiting: usize,
    /// Of those that wait, the units of work and keys whose topic has no sink in this program.
    pub unrouted: usize,
    /// Units of work and keys that were parked.
    pub parked: usize,
    /// Deliveries whose claim another relay had taken over: their effects are carried out twice.
    pub fenced: usize,
    /// How long to wait, at most, before the next pass.
    pub next: Duration,
}

impl PassReport {
    /// The result of a pass without any rows.
    pub(super) fn idle(next: Duration) -> Self {
        Self { next, ..Self::default() }
    }

    /// Whether there was nothing to do: a loop of your own may pause for [`next`](Self::next).
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.carried + self.sent + self.failed + self.waiting + self.parked + self.fenced == 0
    }

    /// The sum of both results.
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

impl Core {
    pub(super) fn new(shared: Arc<Shared>, pool: Pool, sinks: Sinks, settings: Settings) -> Self {
        let (metrics, source, stores) = (RelayMetrics::register(), OnceLock::new(), OnceLock::new());
        let (passed, unrouted, doubts_connection) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        #[cfg(feature = "stream")]
        let routes = sinks.and_streams(&shared.destinations.streams);
        #[cfg(not(feature = "stream"))]
        let routes = sinks.clone();
        let failing = Recurring::default();
        Self {
            shared,
            pool,
            sinks,
            routes,
            settings,
            metrics,
            source,
            stores,
            passed,
            unrouted,
            failing,
            doubts_connection,
        }
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Logs a topic without a sink, once, because every pass meets it again.
    pub(super) fn log_unrouted(&self, topic: &str) {
        /// More topics than a program has; further ones are counted and listed, but not logged.
        const TOPICS_MAX: usize = 1_000;
        let mut logged = self.unrouted.lock();
        if logged.len() < TOPICS_MAX && logged.insert(topic.to_owned()) {
            let parked_after = self.settings.unrouted_max;
            tracing::warn!(
                topic,
                ?parked_after,
                "no sink of this program accepts the topic; its messages wait for a program that has one"
            );
        }
    }

    /// Checks the settings of the database, once.
    pub(super) async fn check_settings(&self) -> Result<(), SqlError> {
        if self.stores.get().is_some() {
            return Ok(());
        }
        let mut connection = self.connection().await?;
        let stores = self.within(connection.check_settings()).await?.map_err(SqlError::Settings)?;
        // Another task may have set it meanwhile, to the same value.
        let _ = self.stores.set(stores);
        Ok(())
    }

    /// The text of an error as the database can store it, shortened to fit its column.
    pub(super) fn short(&self, error: &str) -> String {
        const BYTES_MAX: usize = 900;
        let is_unicode = self.stores.get() == Some(&Stores::Unicode);
        let stored: Cow<'_, str> = if is_unicode { error.into() } else { ascii(error).into() };
        let end = (0..=BYTES_MAX.min(stored.len())).rev().find(|end| stored.is_char_boundary(*end)).unwrap_or(0);
        stored[..end].replace('\0', " ")
    }

    /// Takes a connection for a short time.
    pub(super) async fn connection(&self) -> Result<PooledConnection, SqlError> {
        let connection = self.within(async { self.pool.acquire().await }).await?;
        if !self.doubts_connection.swap(false, Relaxed) {
            return Ok(connection);
        }
        self.within(connection.close()).await?;
        self.within(async { self.pool.acquire().await }).await
    }

    /// Runs one database step within the deadline.
    pub(super) async fn within<T, E: Into<SqlError>>(
        &self,
        step: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, SqlError> {
        match self.clock().timeout(self.settings.deadline, step).await {
            Ok(answer) => answer.map_err(Into::into).inspect_err(|error: &SqlError| {
                if error.ends_session() {
                    self.doubts_connection.store(true, Relaxed);
                }
            }),
            Err(_) => Err(SqlError::Busy("the database did not reply in time; the relay retries")),
        }
    }

    /// The name of this outbox.
    pub(super) async fn source(&self, connection: &mut Connection) -> Result<Arc<str>, SqlError> {
        if let Some(source) = self.source.get() {
            return Ok(Arc::clone(source));
        }
        let source: Arc<str> = self.within(source::of(connection)).await?.into();
        // Another task may have set it meanwhile, to the same name.
        let _ = self.source.set(Arc::clone(&source));
        Ok(source)
    }
}

/// The text with every character that is not ASCII written as `\u{..}`.
fn ascii(text: &str) -> String {
    let escaped = |c: char| if c.is_ascii() { c.to_string() } else { c.escape_unicode().to_string() };
    text.chars().map(escaped).collect()
}
