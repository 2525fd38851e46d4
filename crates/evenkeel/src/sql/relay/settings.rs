//! The settings of a relay and their defaults.

use evenkeel_link::clock::Moment;
use evenkeel_link::support::{Backoff, guard};
use std::time::Duration;

/// The settings that the builder collects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// The maximum number of rows in one claim.
    pub(super) batch: usize,
    /// How long a claim on units of work is valid, unless it is renewed, before another relay may take it over.
    pub(super) lease: Duration,
    /// The time limit of one call to a sink, to Redis or to the database.
    pub(super) deadline: Duration,
    /// The number of failed attempts after which a row is parked.
    pub(super) attempts_max: u32,
    /// The delay between two attempts of a row.
    pub(super) backoff: Backoff,
    /// The delay between two polls while there is nothing to do.
    pub(super) poll: Backoff,
    /// How long the rows of completed units of work are kept.
    pub(super) retention: Duration,
    /// How long a message may wait for a program that has a sink for its topic.
    pub(super) unrouted_max: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            batch: 200,
            lease: Duration::from_secs(5),
            deadline: Duration::from_secs(10),
            attempts_max: 20,
            backoff: Backoff { delay_min: Duration::from_millis(200), delay_max: Duration::from_secs(300) },
            poll: Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) },
            retention: RETENTION,
            unrouted_max: UNROUTED_MAX,
        }
    }
}

impl Settings {
    /// How long a claim on keys is valid. It is not renewed, so it must outlive the one call to a sink that a pass makes.
    pub(super) fn key_lease(&self) -> Duration {
        self.lease.max(self.deadline.saturating_mul(3)).min(SPAN_MAX)
    }

    /// A due time further in the future is none that a relay has given by the database's present clock: it was set back. Twice the longest
    /// delay of this relay, because those of another one may be longer, and at least ten minutes.
    pub(super) fn far(&self) -> Duration {
        let longest = self.key_lease().max(self.backoff.delay_max).max(BACKLOG_MAX);
        longest.saturating_mul(2).max(FAR_MIN).min(SPAN_MAX)
    }

    /// Whether to look for such due times now.
    pub(super) fn recalls(&self, last: Option<Moment>, now: Moment) -> bool {
        last.is_none_or(|last| now.since(last) >= RECALL_EVERY) && guard("relay_recalls")
    }
}

/// The minimum of [`Settings::far`].
const FAR_MIN: Duration = Duration::from_secs(600);

/// The interval at which a relay looks for rows whose due time is too far in the future.
const RECALL_EVERY: Duration = Duration::from_secs(10);

/// The limit of all durations: sums of times must fit into the numbers of a database.
pub(super) const SPAN_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The program with the sink may be down for a night.
const UNROUTED_MAX: Duration = Duration::from_secs(24 * 3600);

/// Long enough to inspect the rows of a day, and far longer than it takes to decide the outcome of a commit.
const RETENTION: Duration = Duration::from_secs(24 * 3600);

/// A pass over units of work starts no calls after this time.
pub(super) const PASS_MAX: Duration = Duration::from_secs(30);

/// How long results that could not be stored are kept, before their effects are carried out again.
pub(super) const RESULTS_KEPT: Duration = Duration::from_secs(60);

/// Rows must outlive every commit whose outcome is undecided.
pub(super) const RETENTION_MIN: Duration = Duration::from_secs(600);

/// The delay between two calls to a destination that is unavailable.
pub(super) const UNAVAILABLE: Backoff =
    Backoff { delay_min: Duration::from_millis(100), delay_max: Duration::from_secs(5) };

/// The interval at which rows that wait for an unavailable destination become due, so that they do not fill every claim.
pub(super) const BACKLOG_STEP: Duration = Duration::from_millis(5);

/// The maximum delay of a waiting row, however many rows wait.
pub(super) const BACKLOG_MAX: Duration = Duration::from_secs(60);

/// The delay until a row whose topic has no sink is claimed again: a quarter of the time it has waited, because another program may
/// have claimed it meanwhile.
pub(super) fn unrouted_pause(age: Duration) -> Duration {
    let seconds = (age.as_secs() / 4).max(1).next_power_of_two().min(30);
    Duration::from_secs(seconds)
}

/// The delay before the results of locked keys are stored again.
pub(super) const LOCKED_RETRY: Duration = Duration::from_millis(500);
