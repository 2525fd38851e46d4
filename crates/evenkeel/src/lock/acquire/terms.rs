//! [`LockTerms`]: the settings of an acquisition that all kinds of locks share.

use super::attempt::Wait;
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::steps::check_spans;
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
    /// `None` for the default.
    pub(crate) ttl: Option<Duration>,
    pub(crate) wait: Wait,
    pub(crate) hold_max: Option<Duration>,
    pub(crate) lock_delay: Duration,
    pub(crate) metadata: String,
}

impl Default for LockTerms {
    fn default() -> Self {
        Self { ttl: None, wait: WAIT, hold_max: Some(HOLD_MAX), lock_delay: Duration::ZERO, metadata: String::new() }
    }
}

impl LockTerms {
    setters! {
        /// The lease: how long the lock stays taken after its holder has died. A live holder renews it every third of this. One that
        /// is longer than `max_hold` is rejected. Default 30 s, or `max_hold` if that is shorter.
        pub fn ttl(ttl: Duration) => ttl = Some(ttl);

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

    /// The length of the lease. An error if a holder could not keep the lock for that long.
    pub(crate) fn lease(&self) -> Result<Duration, LockError> {
        let ttl = self.ttl.unwrap_or(TTL);
        check_spans(ttl, self.hold_max)?;
        match self.hold_max {
            Some(limit) if ttl > limit && self.ttl.is_some() => Err(LockError::Invalid(format!(
                "a ttl of {ttl:?} is longer than the `max_hold` of {limit:?}, at which the lock would end; raise `max_hold` or shorten the ttl"
            ))),
            limit => Ok(limit.map_or(ttl, |limit| ttl.min(limit))),
        }
    }
}
