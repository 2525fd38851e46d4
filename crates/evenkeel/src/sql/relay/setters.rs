//! The methods that change the settings of a [`Relay`].

use super::core::Core;
use super::relay::Relay;
use super::runner::Runner;
use super::settings::{RETENTION_MIN, SPAN_MAX, Settings};
use crate::sql::Shared;
use crate::sql::database::Pool;
use crate::sql::sink::Sinks;
use evenkeel_link::support::{Backoff, guard};
use std::sync::Arc;
use std::time::Duration;

/// The settings: set them before [`run`](Self::run). A clone keeps the settings that it was cloned with. Every duration is limited to ten
/// years.
impl<DB> Relay<DB> {
    pub(crate) fn with_defaults(shared: &Arc<Shared>, pool: Pool) -> Self {
        Self::new(Runner::new(Core::new(Arc::clone(shared), pool, Sinks::none(), Settings::default())))
    }

    /// The destinations of messages. Default: none; messages wait for a relay that has sinks, and so do the units of work that
    /// contain unordered messages. Entries that units of work append to streams need no sink: every relay with the feature `stream`
    /// sends them.
    pub fn sinks(self, sinks: Sinks) -> Self {
        let core = self.0.core();
        if sinks.prefixes().next().is_some() {
            core.shared.set_sinks(&sinks);
        }
        Self::new(Runner::new(Core::new(Arc::clone(&core.shared), core.pool.clone(), sinks, core.settings)))
    }

    /// The maximum number of rows in one claim: units of work, or messages of all keys together. Default: 200; at most 256.
    pub fn batch(self, rows: usize) -> Self {
        self.with(|settings| settings.batch = rows.clamp(1, crate::sql::database::LIST_MAX))
    }

    /// How long after its death the units of work of a relay wait before another one takes them over. Default: 5 s; at least a
    /// second. A claim on units of work is renewed while the relay works on them; a claim on keys of ordered messages is not, and
    /// lasts at least three times the [`deadline`](Self::deadline).
    pub fn lease(self, span: Duration) -> Self {
        self.with(|settings| settings.lease = shortened(span).max(Duration::from_secs(1)))
    }

    /// The time limit of one call to a sink, to Redis or to the database. Default: 10 s; at least
    /// 10 ms: shorter spans, also none, count as that.
    pub fn deadline(self, span: Duration) -> Self {
        self.with(|settings| settings.deadline = shortened(span).max(Duration::from_millis(10)))
    }

    /// The number of failed attempts after which a unit of work or a key is parked for an operator. An unavailable sink or Redis uses
    /// no attempt. Default: 20, which takes about an hour with the default delays.
    pub fn attempts_max(self, attempts: u32) -> Self {
        self.with(|settings| settings.attempts_max = attempts.max(1))
    }

    /// The exponential backoff between two attempts of one unit of work or key: doubles from `min` to `max`. Default: 200 ms to
    /// 5 minutes. After the database's clock was set back, rows wait for at most twice the longest delay of a relay, or ten minutes, and its
    /// lease; relays of one database need similar settings.
    pub fn backoff(self, min: Duration, max: Duration) -> Self {
        self.with(|settings| settings.backoff = delays(min, max))
    }

    /// The delay between two polls while there is nothing to do: doubles from `min` to `max`. Default: 20 ms to 1 s. A commit of this
    /// process that left effects ends the delay at once; on PostgreSQL a commit of another process does so as well
    /// ([`WakeUp`](crate::sql::WakeUp)), for which [`Relay::run`] opens a connection in addition to those of the pool.
    pub fn poll(self, min: Duration, max: Duration) -> Self {
        self.with(|settings| settings.poll = delays(min, max))
    }

    /// How long the rows of completed units of work are kept. Default: a day; at least ten minutes, because the row decides a commit
    /// whose reply was lost. (Ordered messages are deleted as soon as they are confirmed.)
    pub fn retention(self, span: Duration) -> Self {
        self.with(|settings| settings.retention = shortened(span).max(RETENTION_MIN))
    }

    /// How long a message may wait for a program that has a sink for its topic; after that its unit of work, or its key, is parked.
    /// The time counts from the commit, or from the last [`release`](super::operate::Outbox::release). Default: a day, so that the
    /// program with the sink may be down for a night; at least a second. A relay without any sink never parks messages with a key.
    pub fn unrouted_max(self, span: Duration) -> Self {
        self.with(|settings| settings.unrouted_max = span.max(Duration::from_secs(1)))
    }

    fn with(self, change: impl FnOnce(&mut Settings)) -> Self {
        let core = self.0.core();
        let mut settings = core.settings;
        change(&mut settings);
        Self::new(Runner::new(Core::new(Arc::clone(&core.shared), core.pool.clone(), core.sinks.clone(), settings)))
    }
}

fn delays(min: Duration, max: Duration) -> Backoff {
    let delay_min = shortened(min);
    Backoff { delay_min, delay_max: shortened(max).max(delay_min) }
}

fn shortened(span: Duration) -> Duration {
    if guard("relay_spans_shortened") { span.min(SPAN_MAX) } else { span }
}
