//! The atomic steps of the cache protocol, which the Lua scripts (`redis.rs`) and the model (`memory.rs`) implement.
//!
//! `docs/spec/cache.md` specifies every step. Two rules hold for all of them:
//!
//! * **Time is the store's.** Spans are milliseconds and are added to the store's own `now`: Redis's `TIME` in the scripts,
//!   the given clock in the model. A caller never sends a point in time, except the one in its [`Grant`].
//! * **A repeated call is harmless.** A caller that received no reply sends the same arguments again, including token and
//!   generation, and gets the reply that the first call got (or would have got).

use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::{Epoch, Token};
use futures_util::future::join_all;

use super::error::CacheError;

/// Longer spans (34 years) are reduced to this, so that every point in time fits into the 48 bits that it has in an entry.
pub const SPAN_MS_MAX: u64 = 1 << 40;

/// The maximum number of open update windows on one entry; a further writer gets [`Begun::Busy`].
pub const WINDOWS_MAX: usize = 4;

/// 64 random bits, drawn by the caller for each attempt; correctness depends on them. Compared as bytes.
///
/// Random and not a counter, because a counter or a clock can repeat itself after a failover or an eviction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Generation(pub [u8; 8]);

impl Generation {
    /// Draws a new generation from the thread's cryptographically secure random number generator.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }
}

/// The reason for a lease; the store checks against its own time whether it still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The read found no value that may be served.
    Miss,
    /// The read found a value past its soft expiry.
    Refresh,
    /// The read found an invalidated value and does not accept stale ones.
    Stale,
    /// The read found a value, but needs one of at least this version.
    Below(u64),
    /// The read needs a value whose load began at most this many milliseconds ago.
    Older(u64),
}

/// A request for the right to load.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Identifies the attempt; a repeated call with the same token gets the same reply.
    pub token: Token,
    /// The generation of the entry, if it must be created.
    pub generation: Generation,
    /// How long the right is exclusive.
    pub lease_ms: u64,
    /// The minimum time to live of the entry, so that the fill finds it: load budget + margin.
    pub life_ms: u64,
    /// The reason, which the store checks.
    pub why: Why,
    /// Fingerprint of the value's schema; an entry of another schema is loaded without storing.
    pub schema: u32,
    /// How far the replicas that this loader may read lag behind, 0 if it reads the primary.
    pub lag_ms_max: u64,
}

/// The right to load and to store once, returned by a lease; passed back unchanged in the [`Fill`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The entry's generation as the lease saw it.
    pub generation: Generation,
    /// Ordinal of the lease within the lifetime of the entry. Each lease and each invalidation takes the next one.
    pub ordinal: u32,
    /// The store's time of the lease. The value's ttl counts from here, before the database was read, so that it
    /// bounds the age of a served value however long the load took.
    pub at_ms: u64,
    /// The load must read the primary, because a replica may lack a write that was invalidated before the lease. A fill from a
    /// replica would be rejected.
    pub primary_required: bool,
}

/// The reply to a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leased {
    /// Load, then call `fill` with this grant, or `abandon`.
    Granted(Grant),
    /// The entry has a value for which the reason does not hold (another load has stored one, or the caller's estimate of the time
    /// is wrong): the whole entry, as `read` would return it.
    AlreadyStored(Bytes),
    /// Another reader is loading.
    Wait {
        /// The time until its lease ends.
        retry_after_ms: u64,
    },
    /// The last load failed, and its loader requested a delay.
    Failing {
        /// The time until the next load may be granted.
        retry_after_ms: u64,
    },
    /// An update window is open: nothing can be stored.
    Writing {
        /// The time until the last window expires.
        retry_after_ms: u64,
    },
    /// The entry has another schema or a newer format: load without storing.
    OtherSchema,
}

/// Stores a value that was loaded under a lease.
#[derive(Clone, Debug)]
pub struct Fill {
    /// From [`Leased::Granted`].
    pub grant: Grant,
    /// The row's version, if the loader knows it. One domain per cache, increasing across delete and re-insert.
    pub version: Option<u64>,
    /// Whether the row is absent (the payload is empty then).
    pub absent: bool,
    /// The codec of the payload; stored with it, not used by any step.
    pub codec: u8,
    /// The compression of the payload; stored with it, not used by any step.
    pub compression: u8,
    /// Encoded value.
    pub payload: Bytes,
    /// From the lease until a refresh is due.
    pub soft_ms: u64,
    /// From the lease until the value expires.
    pub hard_ms: u64,
    /// From the lease until the entry may be removed together with its expired value, if that is later: for readers whose load fails. 0
    /// keeps no expired value. Only another fill extends it.
    pub spare_ms: u64,
    /// The maximum ttl of the value (from now) while a writer whose window expired may still commit.
    pub suspect_ms: u64,
    /// How far the replica from which the value was read may lag behind, 0 if it was read from the primary.
    pub replica_lag_ms: u64,
}

/// The result of a fill. Only `Stored` changes the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// The value is stored (also the reply to a repeated call).
    Stored,
    /// An invalidation or a newer load was first.
    Superseded,
    /// The value is below the floor, or was read from a replica although the grant required the primary.
    BelowFloor,
    /// The entry is gone (evicted, expired or flushed) and the permission with it; or the value has already expired.
    Gone,
}

/// Whether the old value may still be served after an invalidation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It may be served stale while one reader reloads, for at most this long and never beyond its previous expiry. Then it has
    /// expired.
    Expire {
        /// How long the old value may be served; 0 makes it expire at once, regardless of a reader's estimate of the time.
        retain_ms: u64,
    },
    /// It is never served again, even to a reader whose load fails.
    Purge,
}

/// Invalidates every load that began before it.
#[derive(Clone, Debug)]
pub struct Invalidation {
    /// The entry's new generation. Draw one for each invalidation; only a repeat of the same call may use it again.
    pub generation: Generation,
    /// The minimum version that may be stored afterwards.
    pub floor: Option<u64>,
    /// What happens to the old value.
    pub mode: Mode,
    /// How far the replicas that loaders read may lag behind, 0 if loaders read the primary, or if the caller does not know: then
    /// the entry records the time of the invalidation only if a loader that reads replicas has used it before.
    pub lag_ms_max: u64,
}

/// Opens an update window: invalidates, and no load is granted before the window ends or expires.
#[derive(Clone, Debug)]
pub struct BeginWrite {
    /// Identifies the writer; a repeated call with the same token opens no second window.
    pub token: Token,
    /// The invalidation that it includes.
    pub invalidation: Invalidation,
    /// How long the window stays open unless it is renewed or ended.
    pub window_ms: u64,
    /// How long the entry stays suspect after an expiry: the longest time that a transaction may still take to commit.
    pub suspect_ms: u64,
    /// Fingerprint of the value's schema, if the entry must be created.
    pub schema: u32,
}

/// The result of `begin_write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The window is open; only now may the SQL statement be sent.
    Open {
        /// The remaining time of the window.
        remaining_ms: u64,
    },
    /// [`WINDOWS_MAX`] windows are already open; nothing was changed.
    Busy {
        /// The time until the first of them expires.
        retry_after_ms: u64,
    },
}

/// The result of `renew_write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// The window was extended.
    Open {
        /// The remaining time of the window.
        remaining_ms: u64,
    },
    /// The window has expired or its entry is gone: roll back.
    Lost,
}

/// The result of `end_write`. The entry was invalidated in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The window was open until now.
    Closed,
    /// The window had expired or its entry was gone: readers may have been served the older value since. Also the reply to
    /// a repeated call, which cannot determine what the first one found.
    Expired,
}

/// The result of a tracked read.
#[derive(Debug)]
pub struct TrackedRead {
    /// The whole entry, or nothing.
    pub answer: Result<Option<Bytes>, CacheError>,
    /// The connection that is notified of the next change of the entry; `None` if no connection is.
    pub tracked_on: Option<usize>,
}

/// The steps of the cache protocol. Each is atomic and safe to repeat; `docs/spec/cache.md` specifies them.
///
/// `key` is the user's key; the store maps it to a Redis key (docs/keyspace.md).
///
/// Errors: [`CacheError::Link`] if the store could not be reached, or its reply was lost (the step may then have been executed).
#[async_trait]
pub trait CacheSteps: Send + Sync {
    /// The whole entry, header and payload, or nothing. Does not run a script. The entry may have expired: the header
    /// decides (see [`Entry`](super::header::Entry)).
    async fn read(&self, key: &[u8]) -> Result<Option<Bytes>, CacheError>;

    /// Requests the right to load. Creates the entry if there is none.
    async fn lease(&self, key: &[u8], lease: &Lease) -> Result<Leased, CacheError>;

    /// Stores a loaded value. The lease may have expired or been taken over meanwhile, but the generation must be unchanged.
    async fn fill(&self, key: &[u8], fill: &Fill) -> Result<Filled, CacheError>;

    /// Returns the lease after a failed load; no other lease is granted before `retry_after_ms`.
    async fn abandon(&self, key: &[u8], token: Token, retry_after_ms: u64) -> Result<(), CacheError>;

    /// Invalidates every earlier load. An absent entry stays absent, because a load needs its entry to store anything.
    async fn invalidate(&self, key: &[u8], invalidation: &Invalidation) -> Result<(), CacheError>;

    /// Opens an update window. Creates the entry if there is none.
    async fn begin_write(&self, key: &[u8], begin: &BeginWrite) -> Result<Begun, CacheError>;

    /// Extends an open window to `window_ms` from now (and its suspect time by as much). Never creates anything.
    async fn renew_write(&self, key: &[u8], token: Token, window_ms: u64) -> Result<Renewed, CacheError>;

    /// Closes the caller's own window and invalidates again whether or not the window was still open.
    async fn end_write(&self, key: &[u8], token: Token, invalidation: &Invalidation) -> Result<Ended, CacheError>;

    /// [`read`](Self::read) for several keys; on Redis in one write.
    async fn read_many(&self, keys: &[&[u8]]) -> Result<Vec<Result<Option<Bytes>, CacheError>>, CacheError> {
        Ok(join_all(keys.iter().map(|key| self.read(key))).await)
    }

    /// [`read_many`](Self::read_many), and the store notifies of the next change of each entry, if it can.
    async fn read_many_tracked(&self, keys: &[&[u8]]) -> Result<Vec<TrackedRead>, CacheError> {
        let answers = self.read_many(keys).await?;
        Ok(answers.into_iter().map(|answer| TrackedRead { answer, tracked_on: None }).collect())
    }

    /// [`fill`](Self::fill) on this epoch or not at all: the permission of a lease is not valid on a later one.
    async fn fill_on(&self, _epoch: &Epoch, key: &[u8], fill: &Fill) -> Result<Filled, CacheError> {
        self.fill(key, fill).await
    }

    /// [`invalidate`](Self::invalidate) on an epoch that is not published yet.
    async fn invalidate_on(&self, _epoch: &Epoch, key: &[u8], with: &Invalidation) -> Result<(), CacheError> {
        self.invalidate(key, with).await
    }

    /// Whether the store sends notifications of changes now.
    fn tracks(&self) -> bool {
        false
    }
}
