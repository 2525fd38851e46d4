//! How a relay works, unless it is told otherwise.

use evenkeel_link::support::Backoff;
use std::time::Duration;

/// What the builder gathers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Rows that are taken in one claim.
    pub(super) batch: usize,
    /// How long a claim holds before another relay may take it over.
    pub(super) lease: Duration,
    /// The longest that one call to a sink, to Redis or to the database may take.
    pub(super) deadline: Duration,
    /// Failures after which a row is parked.
    pub(super) attempts_max: u32,
    /// Between two attempts of a row.
    pub(super) backoff: Backoff,
    /// Between two looks while nothing is to do.
    pub(super) poll: Backoff,
    /// How long rows that are done are kept.
    pub(super) retention: Duration,
    /// How long a message may wait for a program that has a sink for its topic.
    pub(super) unrouted_max: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            batch: 200,
            lease: Duration::from_secs(60),
            deadline: Duration::from_secs(10),
            attempts_max: 20,
            backoff: Backoff { delay_min: Duration::from_millis(200), delay_max: Duration::from_secs(300) },
            poll: Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) },
            retention: RETENTION,
            unrouted_max: UNROUTED_MAX,
        }
    }
}

/// Whatever a program asks for: times that are added up must fit into the numbers of a database.
pub(super) const SPAN_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A program that has the sink may be away for a night.
const UNROUTED_MAX: Duration = Duration::from_secs(24 * 3600);

/// A day of rows to look at; long after nobody asks any more how a commit went.
const RETENTION: Duration = Duration::from_secs(24 * 3600);

/// Rows must outlive every commit that is still undecided.
pub(super) const RETENTION_MIN: Duration = Duration::from_secs(600);

/// While the other side is away, one look is enough.
pub(super) const AWAY: Backoff = Backoff { delay_min: Duration::from_millis(100), delay_max: Duration::from_secs(5) };

/// What waits for something that is away comes back so many at a time, and no claim is full of it: others get their turn.
pub(super) const BACKLOG_STEP: Duration = Duration::from_millis(5);

/// However much waits, nothing waits longer than this to be looked at again.
pub(super) const BACKLOG_MAX: Duration = Duration::from_secs(60);

/// When a topic without a sink is looked at again: a quarter of the time it has waited already, for another program may have taken
/// it meanwhile.
pub(super) fn unrouted_pause(age: Duration) -> Duration {
    let seconds = (age.as_secs() / 4).max(1).next_power_of_two().min(30);
    Duration::from_secs(seconds)
}

/// Between two attempts to write down what somebody has locked.
pub(super) const AGAIN: Duration = Duration::from_millis(500);

/// As milliseconds for the database.
pub(super) fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
