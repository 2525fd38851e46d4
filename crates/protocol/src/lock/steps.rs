//! The atomic steps of a lock, as a trait; docs/spec/lock.md is their specification. Each backend implements it, and the
//! conformance suite of the test kit runs on all of them.

use super::error::LockError;
use super::name::LockName;
use super::pool::steps::PoolSteps;
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::support::guard;
use evenkeel_link::{LinkError, Token};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Longest words a holder may say about itself.
pub const WORDS_BYTES_MAX: usize = 1024;

/// The highest fence a backend may hand out: Lua counts exactly up to here.
pub const FENCE_MAX: u64 = (1 << 53) - 1;

/// The highest fence that a program may have seen elsewhere: above it there would be no room for those to come.
pub const FLOOR_MAX: u64 = 1 << 52;

/// The longest that anything is held: a hundred years. More counts as that.
pub const HOLD_MS_MAX: u64 = 100 * 365 * 24 * 3_600_000;

/// A number that rises with every acquisition of a name. What protects a resource is not that somebody has a fence, but that the
/// resource refuses everything that comes with a lower one than it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A call that wants a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquire {
    /// Who will hold it: drawn anew for each acquisition, the same for repeats of the call.
    pub owner: Token,
    /// The process that asks.
    pub process: Token,
    /// How long it is held without a renewal.
    pub lease_ms: u64,
    /// How long it stays unavailable after a lease ran out.
    pub cooling_ms: u64,
    /// How long it may be held with renewals; `None` for no limit.
    pub hold_ms_max: Option<u64>,
    /// A fence that was seen elsewhere: the new one is above it.
    pub fence_floor: u64,
    /// Whether the process waits if it gets nothing.
    pub waits: bool,
    /// What the holder says about itself.
    pub words: Bytes,
}

/// What became of an [`Acquire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// The caller holds it.
    Granted {
        /// Its fence.
        fence: Fence,
        /// For how long, from when the backend answered.
        lease_left_ms: u64,
    },
    /// It is held, or cools, or it is the turn of another process.
    Taken {
        /// It is not free before so many ms, unless it is given back.
        free_in_ms: u64,
    },
}

/// What became of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// The lease counts from now.
    Renewed {
        /// What is left of it.
        lease_left_ms: u64,
    },
    /// The caller holds it, and it has reached its limit: this lease is the last.
    Held {
        /// What is left of it.
        lease_left_ms: u64,
    },
    /// The caller does not hold it any more.
    Lost,
}

/// A call that gives a lock back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Who holds it.
    pub owner: Token,
    /// The process it is in.
    pub process: Token,
    /// Whether others in the same process wait for it.
    pub waits: bool,
}

/// What a [`Release`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// The caller held it; now it is free.
    Released {
        /// Other processes that wait for it. They were notified.
        others_waiting: u64,
    },
    /// Another owner holds it, or it cools after the caller's lease ran out.
    Lost,
    /// It is free: the lease ran out, or this call is a repeat.
    Nothing,
}

/// What is known of a lock that is not free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Who holds it.
    pub owner: Token,
    /// Its fence.
    pub fence: Fence,
    /// What is left of the lease; 0 if it ran out and the lock cools.
    pub lease_left_ms: u64,
    /// When it is free at the earliest, unless it is given back.
    pub free_in_ms: u64,
    /// For how long it has been held.
    pub held_ms: u64,
    /// Processes that wait for it.
    pub waiting: u64,
    /// What the holder says about itself.
    pub words: Bytes,
}

type Reply<T> = Result<T, LockError>;

/// The steps of a lock.
#[async_trait]
pub trait LockSteps: Send + Sync {
    /// Takes a lock that is free.
    async fn acquire(&self, name: &LockName, call: &Acquire) -> Reply<Acquired>;
    /// Lets a lease count from now, if `owner` still has it.
    async fn renew(&self, name: &LockName, owner: Token, lease_ms: u64) -> Reply<Renewed>;
    /// Gives a lock back, if `owner` still has it.
    async fn release(&self, name: &LockName, call: Release) -> Reply<Released>;
    /// Lifts the fence above what SQL has seen, if `owner` still has the lock; `None` if not.
    async fn raise(&self, name: &LockName, owner: Token, seen: Fence) -> Reply<Option<Fence>>;
    /// What is known of a lock; `None` if it is free.
    async fn inspect(&self, name: &LockName) -> Reply<Option<Holder>>;
    /// Takes a lock away from its holder, if it has the fence that was `seen` (`None`: any); what was taken away.
    async fn break_lock(&self, name: &LockName, seen: Option<Fence>) -> Reply<Option<Holder>>;
    /// The names that are not free, sorted.
    async fn held(&self) -> Reply<Vec<LockName>>;
    /// Subscribes: from now on the listener is notified when the lock may be free.
    async fn listen(&self, name: &LockName) -> Reply<Box<dyn WakeListener>>;
    /// Refuses a call that this store cannot take, before a caller waits for it.
    fn check(&self, call: &Acquire) -> Reply<()> {
        check(call)
    }
    /// Releases without waiting where the store is in this process; `false` if a server must be asked.
    fn release_now(&self, _name: &LockName, _call: Release) -> bool {
        false
    }
    /// Whether the store is in this process, and answers at once.
    fn is_embedded(&self) -> bool {
        false
    }
    /// The permits that several hold at once, kept in the same store; `None` if it keeps none.
    fn pools(&self) -> Option<Arc<dyn PoolSteps>> {
        None
    }
    /// How many stripes the striped lock of this name has; stores `stripes` if no number is stored.
    async fn stripes(&self, _name: &LockName, stripes: u32) -> Reply<u32> {
        Ok(stripes)
    }
    /// From now on the striped lock of this name has so many stripes.
    async fn restripe(&self, _name: &LockName, _stripes: u32) -> Reply<()> {
        Ok(())
    }
    /// What an acquisition reports whose time to wait was over before the store answered.
    fn no_answer(&self) -> LockError {
        LockError::Link(LinkError::NoAnswer { reason: "the time to wait for the lock was over before it came" })
    }
}

/// Which process a notification calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// This process, or every process.
    You,
    /// Another process that waits.
    Another,
}

/// Is notified when a lock may be free.
#[async_trait]
pub trait WakeListener: Send {
    /// Ready when the lock may be free: another process released it, or a notification may have been missed. Dropping the future loses
    /// nothing.
    async fn called(&mut self, process: Token) -> Call;
}

/// Shortest lease and shortest hold that a program may ask for: a guard of less would be over before anything is done under it.
const SPAN_MIN: Duration = Duration::from_millis(50);

/// Refuses spans in which nothing can be done.
pub fn check_spans(ttl: Duration, hold_max: Option<Duration>) -> Reply<()> {
    let what = match hold_max {
        _ if ttl < SPAN_MIN => format!("a ttl of {ttl:?}"),
        Some(limit) if limit < SPAN_MIN => format!("a `max_hold` of {limit:?}"),
        _ => return Ok(()),
    };
    Err(LockError::Invalid(format!("{what} would be over at once; the least is {SPAN_MIN:?}")))
}

/// Refuses what no backend takes.
pub fn check(call: &Acquire) -> Reply<()> {
    const LEASE_MS_MAX: u64 = u32::MAX as u64;
    let refuse = |sentence: String| Err(LockError::Invalid(sentence));
    if call.lease_ms == 0 || call.lease_ms > LEASE_MS_MAX || call.cooling_ms > LEASE_MS_MAX {
        return refuse(format!(
            "a ttl of {} ms with a lock delay of {} ms; a ttl takes 1 ms to 49 days, a delay up to 49 days",
            call.lease_ms, call.cooling_ms
        ));
    }
    if call.words.len() > WORDS_BYTES_MAX {
        return refuse(format!("{} bytes of metadata, at most {WORDS_BYTES_MAX} are taken", call.words.len()));
    }
    check_floor(call.fence_floor)
}

/// Refuses a fence that leaves no room for those to come.
pub fn check_floor(seen: u64) -> Reply<()> {
    if seen > FLOOR_MAX && guard("lock_floor_bounded") {
        let sentence = format!("a fence of {seen} leaves no room for higher ones; at most {FLOOR_MAX} is taken");
        return Err(LockError::Invalid(sentence));
    }
    Ok(())
}
