//! The atomic steps of a lock, as a trait; docs/spec/lock.md specifies them. The conformance suite of the test kit runs
//! on every backend.

use super::error::LockError;
use super::name::LockName;
use super::pool::PoolBackend;
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::support::guard;
use evenkeel_link::{LinkError, Token};
use std::fmt;
use std::time::Duration;

/// The maximum length of a holder's metadata.
pub const METADATA_BYTES_MAX: usize = 1024;

/// The highest fencing token that a backend may issue: Lua's numbers are exact up to this.
pub const FENCE_MAX: u64 = (1 << 53) - 1;

/// The highest fencing token that a program may pass as already seen: it leaves room for higher ones.
pub const FLOOR_MAX: u64 = 1 << 52;

/// The longest time that a lock is held: a hundred years. Longer times are reduced to it.
pub const HOLD_MS_MAX: u64 = 100 * 365 * 24 * 3_600_000;

/// A fencing token: a number that increases with every acquisition of a name. A resource is protected not by the holder's token
/// itself, but because the resource rejects every request with a lower token than it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A request for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquire {
    /// The future holder: drawn anew for each acquisition, the same for repeats of the call.
    pub owner: Token,
    /// The requesting process.
    pub process: Token,
    /// How long it is held without a renewal.
    pub lease_ms: u64,
    /// The cooling time: how long the lock stays unavailable after a lease has expired.
    pub cooling_ms: u64,
    /// How long it may be held with renewals; `None` for no limit.
    pub hold_ms_max: Option<u64>,
    /// A fencing token that was seen elsewhere: the new one is above it.
    pub fence_floor: u64,
    /// Whether the process waits if the request is not granted.
    pub waits: bool,
    /// The holder's metadata.
    pub metadata: Bytes,
}

/// The reply to an [`Acquire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// The caller holds it.
    Granted {
        /// Its fencing token.
        fence: Fence,
        /// The remaining lease, counted from the backend's reply.
        lease_left_ms: u64,
    },
    /// It is held, in its cooling time, or reserved for other processes.
    Taken {
        /// The time until it may be free, unless it is released before.
        free_in_ms: u64,
    },
}

/// The reply to a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// The lease was renewed from now.
    Renewed {
        /// The remaining lease.
        lease_left_ms: u64,
    },
    /// The caller holds it, but its maximum hold time is reached: this lease is the last.
    Held {
        /// The remaining lease.
        lease_left_ms: u64,
    },
    /// The caller no longer holds it.
    Lost,
}

/// A release of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The owner.
    pub owner: Token,
    /// The owner's process.
    pub process: Token,
    /// Whether other tasks of the same process wait for it.
    pub waits: bool,
}

/// The reply to a [`Release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// The caller held it; it is now free.
    Released {
        /// The number of other waiting processes. They were notified.
        others_waiting: u64,
    },
    /// Another owner holds it, or it is in its cooling time after the caller's lease has expired.
    Lost,
    /// It is free: the lease has expired, or this call is a repeat.
    Nothing,
}

/// The state of a lock that is not free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The owner.
    pub owner: Token,
    /// Its fencing token.
    pub fence: Fence,
    /// The remaining lease; 0 if it has expired and the lock is in its cooling time.
    pub lease_left_ms: u64,
    /// The time until it may be free, unless it is released before.
    pub free_in_ms: u64,
    /// How long it has been held.
    pub held_ms: u64,
    /// The number of waiting processes.
    pub waiting: u64,
    /// The holder's metadata.
    pub metadata: Bytes,
}

type Reply<T> = Result<T, LockError>;

/// The steps of a lock.
#[async_trait]
pub trait LockSteps: Send + Sync {
    /// Acquires a free lock.
    async fn acquire(&self, name: &LockName, call: &Acquire) -> Reply<Acquired>;
    /// Renews a lease from now, if `owner` still has it.
    async fn renew(&self, name: &LockName, owner: Token, lease_ms: u64) -> Reply<Renewed>;
    /// Releases a lock, if `owner` still has it.
    async fn release(&self, name: &LockName, call: Release) -> Reply<Released>;
    /// Raises the fencing token above the one stored in SQL, if `owner` still has the lock; `None` if not.
    async fn raise(&self, name: &LockName, owner: Token, seen: Fence) -> Reply<Option<Fence>>;
    /// The state of a lock; `None` if it is free.
    async fn inspect(&self, name: &LockName) -> Reply<Option<Holder>>;
    /// Revokes a lock from its holder, if its fencing token is `seen` (`None`: any); returns the former holder.
    async fn break_lock(&self, name: &LockName, seen: Option<Fence>) -> Reply<Option<Holder>>;
    /// The names of the locks that are not free, sorted.
    async fn held(&self) -> Reply<Vec<LockName>>;
    /// Subscribes: after this the listener is notified when the lock may be free.
    async fn listen(&self, name: &LockName) -> Reply<Box<dyn WakeListener>>;
    /// Rejects a call that this store does not support, before a caller waits for it.
    fn check(&self, call: &Acquire) -> Reply<()> {
        check(call)
    }
    /// Releases synchronously if the store is in this process; returns `false` otherwise.
    fn release_now(&self, _name: &LockName, _call: Release) -> bool {
        false
    }
    /// Whether the store is in this process and replies at once.
    fn is_embedded(&self) -> bool {
        false
    }
    /// The address and the eviction policy of a server that removes keys when it is full.
    async fn eviction(&self) -> Reply<Option<(String, String)>> {
        Ok(None)
    }
    /// The pools in the same store; `None` if it does not support them.
    fn pools(&self) -> Option<PoolBackend> {
        None
    }
    /// The number of stripes of the striped lock of this name; stores `stripes` if no number is stored.
    async fn stripes(&self, _name: &LockName, stripes: u32) -> Reply<u32> {
        Ok(stripes)
    }
    /// Sets the number of stripes of the striped lock of this name.
    async fn restripe(&self, _name: &LockName, _stripes: u32) -> Reply<()> {
        Ok(())
    }
    /// The error of an acquisition whose waiting time ended before the store replied.
    fn no_answer(&self) -> LockError {
        LockError::Link(LinkError::NoAnswer { reason: "the time to wait for the lock ended before the reply" })
    }
}

/// The recipient of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// This process, or every process.
    You,
    /// Another process that waits.
    Another,
}

/// Receives notifications that a lock may be free.
#[async_trait]
pub trait WakeListener: Send {
    /// Ready when the lock may be free: another process released it, or a notification may have been missed. `waiter` is the waiting process,
    /// or the owner that has a place in the queue of a pool. Cancel-safe: dropping the future loses no notification.
    async fn called(&mut self, waiter: Token) -> Call;
}

/// The shortest lease and hold time that a program may request: shorter ones would end before any work under them.
const SPAN_MIN: Duration = Duration::from_millis(50);

/// Rejects spans that are too short. Each kind of lock checks its longest ttl.
pub fn check_spans(ttl: Duration, hold_max: Option<Duration>) -> Reply<()> {
    let (what, most) = match hold_max {
        _ if ttl < SPAN_MIN => (format!("a ttl of {ttl:?}"), "49 days (permits and locks in a database: a day)"),
        Some(limit) if limit < SPAN_MIN => (format!("a `max_hold` of {limit:?}"), "any time, or `None` for no limit"),
        _ => return Ok(()),
    };
    Err(LockError::Invalid(format!("{what} is too short; choose {SPAN_MIN:?} to {most}")))
}

/// Rejects arguments that no backend accepts.
pub fn check(call: &Acquire) -> Reply<()> {
    const LEASE_MS_MAX: u64 = u32::MAX as u64;
    let refuse = |sentence: String| Err(LockError::Invalid(sentence));
    if call.lease_ms == 0 || call.lease_ms > LEASE_MS_MAX || call.cooling_ms > LEASE_MS_MAX {
        return refuse(format!(
            "a ttl of {} ms with a lock delay of {} ms; choose a ttl of {SPAN_MIN:?} to 49 days, and a lock delay of at most 49 days",
            call.lease_ms, call.cooling_ms
        ));
    }
    if call.metadata.len() > METADATA_BYTES_MAX {
        return refuse(format!("{} bytes of metadata; the limit is {METADATA_BYTES_MAX}", call.metadata.len()));
    }
    check_floor(call.fence_floor)
}

/// Rejects a fencing token that leaves no room for higher ones.
pub fn check_floor(seen: u64) -> Reply<()> {
    if seen > FLOOR_MAX && guard("lock_floor_bounded") {
        let sentence = format!("a fence of {seen} leaves no room for higher ones; the limit is {FLOOR_MAX}");
        return Err(LockError::Invalid(sentence));
    }
    Ok(())
}
