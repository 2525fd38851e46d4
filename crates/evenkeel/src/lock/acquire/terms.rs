//! [`LockTerms`]: the settings of an acquisition that all kinds of locks share.

use super::attempt::Wait;
use std::time::Duration;

/// The default lease.
const TTL: Duration = Duration::from_secs(30);
/// The default limit of a lock with renewals, which ends leaked guards.
const HOLD_MAX: Duration = Duration::from_secs(3_600);
const WAIT: Wait = Wait::UpTo(Duration::from_secs(30));

/// The settings of an acquisition. Every setting has a default; a kind of lock rejects settings that it does not support
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
    setters! {
        /// The lease: how long the lock stays taken after its holder has died. A live holder renews it every third of this. Default 30 s.
        pub fn ttl(ttl: Duration) => ttl = ttl;

        /// How long to wait while another holder has the lock: [`Wait::No`], a `Duration`, or [`Wait::Forever`]. Default 30 s.
        pub fn wait(wait: impl Into<Wait>) => wait = wait.into();

        /// How long the lock may be held with renewals. After that it is lost, so that a leaked or hanging guard does not hold it forever.
        /// Default an hour; `None`, or a hundred years and more, is no limit.
        pub fn max_hold(limit: impl Into<Option<Duration>>) => hold_max = limit.into();

        /// How long the lock stays unavailable after its lease has expired (not after a release). It gives a paused holder time to notice the
        /// loss, for resources that do not check fencing tokens. Default none.
        pub fn lock_delay(delay: Duration) => lock_delay = delay;

        /// A description of the holder for operators (`evenkeel lock show`): at most 1 KiB. Default empty.
        pub fn metadata(text: impl Into<String>) => metadata = text.into();
    }
}
