//! Names what is not the default before a [`Relay`] is run.

use super::core::Core;
use super::metrics::RelayMetrics;
use super::relay::Relay;
use super::settings::{RETENTION_MIN, SPAN_MAX, Settings};
use crate::keel::Keel;
use crate::sql::database::Database;
use crate::sql::sink::Sinks;
use evenkeel_link::support::{Backoff, guard};
use parking_lot::Mutex;
use sqlx::Pool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Names what is not the default before a [`Relay`] is run. [`Keel::relay`] begins one. Every span counts as at most ten years.
#[must_use = "nothing is carried out until `build` and `run`"]
pub struct RelayBuilder<DB: Database> {
    keel: Keel,
    pool: Pool<DB>,
    sinks: Sinks,
    settings: Settings,
}

impl Keel {
    /// Begins a relay for the outbox in this database. Without [sinks](RelayBuilder::sinks) it carries out invalidations and jobs only:
    /// messages wait for a relay that has a sink for them, and are logged, counted and after a day parked
    /// ([`unrouted_max`](RelayBuilder::unrouted_max)), except that messages with a key wait for ever. The caches and queues of the effects are those of this keel, so the relay
    /// must run over the same Redis, with the same prefix, as the programs that commit.
    pub fn relay<DB: Database>(&self, pool: &Pool<DB>) -> RelayBuilder<DB> {
        let (keel, pool) = (self.clone(), pool.clone());
        RelayBuilder { keel, pool, sinks: Sinks::none(), settings: Settings::default() }
    }

    /// Gives the fast path of this keel its sinks: unordered messages are sent right after their commit. [`RelayBuilder::sinks`]
    /// does the same; this is for a program that leaves the relay to another one. Without sinks messages wait for a relay.
    pub fn publish_to(&self, sinks: &Sinks) {
        self.sql().set_publisher(Arc::new(sinks.clone()));
    }
}

impl<DB: Database> RelayBuilder<DB> {
    /// Where messages go. Default: nowhere; they wait for a relay that has sinks, and so do the works that hold unordered ones.
    pub fn sinks(mut self, sinks: Sinks) -> Self {
        self.sinks = sinks;
        self
    }

    /// Rows that are taken in one claim: works, or messages of all keys together. Default: 200; at most 256.
    pub fn batch(mut self, rows: usize) -> Self {
        self.settings.batch = rows.clamp(1, crate::sql::database::LIST_MAX);
        self
    }

    /// How long a claim holds: what a relay had claimed that died is taken over after it. Default: 60 s; at least a second. Half
    /// of it must be more than [`deadline`](Self::deadline), or effects are carried out twice for no reason.
    pub fn lease(mut self, span: Duration) -> Self {
        self.settings.lease = shortened(span).max(Duration::from_secs(1));
        self
    }

    /// The longest that one call to a sink, to Redis or to the database may take. Default: 10 s.
    pub fn deadline(mut self, span: Duration) -> Self {
        self.settings.deadline = shortened(span).max(Duration::from_millis(10));
        self
    }

    /// Failures after which a work or a key is parked for a person to decide. A sink or a Redis that is away is no failure.
    /// Default: 20, which the default delays spread over about an hour.
    pub fn attempts_max(mut self, attempts: u32) -> Self {
        self.settings.attempts_max = attempts.max(1);
        self
    }

    /// Between two attempts of one work or key: doubles from `min` to `max`. Default: 200 ms to 5 minutes.
    pub fn backoff(mut self, min: Duration, max: Duration) -> Self {
        self.settings.backoff = delays(min, max);
        self
    }

    /// Between two looks while there is nothing to do: doubles from `min` to `max`. Default: 20 ms to 1 s. A commit of this
    /// process that left something ends the pause at once; on PostgreSQL one of another process does, too
    /// ([`WakeUp`](crate::sql::WakeUp)), for which [`Relay::run`] takes a connection of its own besides those of the pool.
    pub fn poll(mut self, min: Duration, max: Duration) -> Self {
        self.settings.poll = delays(min, max);
        self
    }

    /// How long the rows of works that are done are kept. Default: a day; at least ten minutes, because a commit that nobody
    /// answered is decided by its row. (Ordered messages are deleted as soon as they are confirmed.)
    pub fn retention(mut self, span: Duration) -> Self {
        self.settings.retention = shortened(span).max(RETENTION_MIN);
        self
    }

    /// How long a message may wait for a program that has a sink for its topic; then its work, or its key, is parked. Counts from
    /// the commit, or from the last [`release`](super::operate::Outbox::release). Default: a day, so that the program that has the
    /// sink may be away for a night; at least a second. A relay without any sink leaves the messages of keys alone.
    pub fn unrouted_max(mut self, span: Duration) -> Self {
        self.settings.unrouted_max = span.max(Duration::from_secs(1));
        self
    }

    /// The relay. Nothing happens until [`Relay::run`].
    pub fn build(self) -> Relay<DB> {
        if self.sinks.prefixes().next().is_some() {
            self.keel.publish_to(&self.sinks);
        }
        Relay::new(Core {
            keel: self.keel,
            pool: self.pool,
            sinks: self.sinks,
            settings: self.settings,
            metrics: RelayMetrics::register(),
            source: OnceLock::new(),
            unrouted: Mutex::default(),
        })
    }
}

fn delays(min: Duration, max: Duration) -> Backoff {
    let delay_min = shortened(min);
    Backoff { delay_min, delay_max: shortened(max).max(delay_min) }
}

fn shortened(span: Duration) -> Duration {
    if guard("relay_spans_shortened") { span.min(SPAN_MAX) } else { span }
}
