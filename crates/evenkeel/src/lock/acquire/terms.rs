//! [`LockTerms`]: what may be said about an acquisition, whatever keeps the lock.

use super::attempt::Wait;
use std::time::Duration;

/// How long a lock is held without a renewal.
const TTL: Duration = Duration::from_secs(30);
/// How long one is held with renewals: a guard that was leaked must end some day.
const HOLD_MAX: Duration = Duration::from_secs(3_600);
const WAIT: Wait = Wait::UpTo(Duration::from_secs(30));

/// What may be said about an acquisition. All of it has defaults; what a backend cannot do it refuses
/// ([`LockError::Invalid`](evenkeel_protocol::lock::error::LockError::Invalid)).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "terms do nothing until a lock is acquired with them"]
pub struct LockTerms {
    pub(crate) ttl: Duration,
    pub(crate) wait: Wait,
    pub(crate) hold_max: Option<Duration>,
    pub(crate) lock_delay: Duration,
    pub(crate) metadata: String,
}

impl Default for LockTerms {
    fn default() -> Self {
        Self { ttl: TTL, wait: WAIT, hold_max: Some(HOLD_MAX), lock_delay: Duration::ZERO, metadata: String::new() }
    }
}

impl LockTerms {
    /// How long the lock stays taken after its holder has died. It is renewed every third of that. Default 30 s.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// How long to wait while another holder has it: [`Wait::No`], a `Duration`, or [`Wait::Forever`]. Default 30 s.
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.wait = wait.into();
        self
    }

    /// How long the lock may be held with renewals: then it is lost, so that a guard that was leaked or hangs does not keep it for
    /// ever. Default an hour; `None` for no limit, as is a hundred years or more.
    pub fn max_hold(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.hold_max = limit.into();
        self
    }

    /// How long the lock stays unavailable after its lease has run out (not after a release): time for a holder that was paused to
    /// notice, for resources that check no fence. Default none.
    pub fn lock_delay(mut self, delay: Duration) -> Self {
        self.lock_delay = delay;
        self
    }

    /// What the holder says about itself to those who look (`evenkeel lock show`): at most 1 KiB. Default nothing.
    pub fn metadata(mut self, words: impl Into<String>) -> Self {
        self.metadata = words.into();
        self
    }
}
