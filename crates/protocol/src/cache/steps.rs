//! The atomic steps of the cache protocol: what the Lua scripts (`redis.rs`) and the model (`memory.rs`) both implement.
//!
//! `docs/spec/cache.md` tells every step in words. Two rules hold for all of them:
//!
//! * **Time is the store's.** Spans are milliseconds and are added to the store's own `now`: Redis's `TIME` in the scripts,
//!   the handed clock in the model. A caller never sends a point in time, except the one a [`Grant`] gave it.
//! * **A repeated call is harmless.** A caller whose reply was lost sends the same arguments again, token and generation
//!   included, and gets the answer that the first call got (or would have got).

use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::support::together;
use evenkeel_link::{Epoch, Token};

use super::error::CacheError;

/// Spans above this (34 years) are cut to it, so that every point in time fits the 48 bits it has in an entry.
pub const SPAN_MS_MAX: u64 = 1 << 40;

/// Update windows that may be open on one entry at a time; a further writer is told [`Begun::Busy`].
pub const WINDOWS_MAX: usize = 4;

/// 64 random bits, drawn by the caller for each attempt; it carries correctness. Compared as bytes.
///
/// It is random and not a counter because a counter, or a clock, can repeat itself after a failover or an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Generation(pub [u8; 8]);

impl Generation {
    /// Draws a new generation from the thread's cryptographically secure generator.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }
}

/// Why a lease is asked for; the store judges by its own time whether the reason still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The read found nothing that may be served.
    Miss,
    /// The read found a value past its soft expiry.
    Refresh,
    /// The read found an invalidated value, which a reader that wants it fresh may not have.
    Stale,
    /// The read found a value, but needs one of at least this version.
    Below(u64),
    /// The read needs a value whose load began at most this many milliseconds ago.
    Older(u64),
}

/// Asks for the right to load.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Names the attempt; a repeated call with the same token gets the same answer.
    pub token: Token,
    /// Written if the entry must be created.
    pub generation: Generation,
    /// How long nobody else is granted the load.
    pub lease_ms: u64,
    /// How long the entry must live at least so that the fill finds it: load budget + margin.
    pub life_ms: u64,
    /// The reason, judged by the store.
    pub why: Why,
    /// Fingerprint of the value's schema; an entry of another schema is loaded without storing.
    pub schema: u32,
    /// How far the replicas that loaders read may lag behind, 0 if loaders read the primary.
    pub lag_ms_max: u64,
}

/// The right to load and to store once, given by a lease; goes back unchanged with the [`Fill`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The entry's generation as the lease saw it.
    pub generation: Generation,
    /// Ordinal of the lease within the life of the entry. Each lease takes the next one, and each invalidation too.
    pub ordinal: u32,
    /// The store's time of the lease. The value's life counts from here, before the database was read, so that a ttl
    /// bounds how old a served value is however long the load took.
    pub at_ms: u64,
    /// The load must read the primary: the entry does not know how new a replica's answer would have to be. A fill from
    /// a replica would be refused.
    pub primary_required: bool,
}

/// What a lease call found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leased {
    /// Load; then `fill` with this, or `abandon`.
    Granted(Grant),
    /// There is a value for which the reason does not hold (somebody's load landed, or the caller's idea of the time is
    /// off): the whole entry as `read` would give it.
    Landed(Bytes),
    /// Somebody else is loading.
    Wait {
        /// When their lease ends.
        retry_after_ms: u64,
    },
    /// The last load failed and its loader asked for patience.
    Failing {
        /// When the next load may be granted.
        retry_after_ms: u64,
    },
    /// An update window is open: nothing can be stored.
    Writing {
        /// When the last window lapses.
        retry_after_ms: u64,
    },
    /// The entry belongs to values of another schema, or is written in a newer format: load without storing.
    OtherSchema,
}

/// Stores what was loaded under a lease.
#[derive(Clone, Debug)]
pub struct Fill {
    /// From [`Leased::Granted`].
    pub grant: Grant,
    /// The row's version, when the loader knows one. One domain per cache, growing across delete and re-insert.
    pub version: Option<u64>,
    /// Whether the row is absent (the payload is empty then).
    pub absent: bool,
    /// Which codec made the payload; kept with it, not looked at by any step.
    pub codec: u8,
    /// How the payload is compressed; kept with it, not looked at by any step.
    pub compression: u8,
    /// Encoded value.
    pub payload: Bytes,
    /// From the lease until a refresh is due.
    pub soft_ms: u64,
    /// From the lease until the value is spent.
    pub hard_ms: u64,
    /// From the lease until the entry may go, spent value and all, should that be later: for readers whose load fails. 0 keeps
    /// no spent value. Nothing but another fill ever sets it anew.
    pub spare_ms: u64,
    /// How long the value may live at most (from now) while a lapsed update window may still commit.
    pub suspect_ms: u64,
    /// Whether the value was read from a replica.
    pub from_replica: bool,
}

/// What a fill did. Nothing but `Stored` changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// The value is in (also the answer to a repeated call).
    Stored,
    /// An invalidation, or a newer load, came first.
    Superseded,
    /// The value is older than what the entry is known to have to be, or came from a replica that nobody can vouch for.
    BelowFloor,
    /// The entry is gone (evicted, expired or flushed) and the permission with it; or the value's life is over already.
    Gone,
}

/// Whether the old value may still be served after an invalidation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It may be served stale while one reader reloads, for at most this long, and never longer than it lived before. Then it is
    /// spent.
    Expire {
        /// How long the old value may be served; 0 makes it spent at once, whatever anybody takes for the time.
        keep_ms: u64,
    },
    /// It is never served again, not even to a reader whose load fails.
    Purge,
}

/// Ends every load that began before it.
#[derive(Clone, Debug)]
pub struct Invalidation {
    /// The entry's new generation. Draw one for each invalidation; only a repeat of the same call may carry it again.
    pub generation: Generation,
    /// No older version may be stored from now on.
    pub floor: Option<u64>,
    /// What happens to the old value.
    pub mode: Mode,
    /// How far the replicas that loaders read may lag behind, 0 if loaders read the primary. Without a `floor`, loads
    /// must read the primary for this long.
    pub lag_ms_max: u64,
}

/// Opens an update window: an invalidation, and no load is granted before the window ends or lapses.
#[derive(Clone, Debug)]
pub struct BeginWrite {
    /// Names the writer; a repeated call with the same token opens no second window.
    pub token: Token,
    /// The invalidation that comes with it.
    pub invalidation: Invalidation,
    /// How long the window stays open unless it is renewed or ended.
    pub window_ms: u64,
    /// How long after a lapse the entry stays suspect: the longest time a transaction may still take to commit.
    pub suspect_ms: u64,
    /// Fingerprint of the value's schema, should the entry have to be created.
    pub schema: u32,
}

/// What `begin_write` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The window is open; only now may the SQL statement be sent.
    Open {
        /// What is left of it.
        remaining_ms: u64,
    },
    /// [`WINDOWS_MAX`] windows are open already; nothing was changed.
    Busy {
        /// When the first of them lapses.
        retry_after_ms: u64,
    },
}

/// What `renew_write` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// The window is open for longer.
    Open {
        /// What is left of it.
        remaining_ms: u64,
    },
    /// The window has lapsed or its entry is gone: roll back.
    Lost,
}

/// What `end_write` found. The entry was invalidated in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The window was open until now.
    Closed,
    /// The window had lapsed or its entry was gone: somebody may have been served the older value since. Also the answer to
    /// a repeated call, which cannot know what the first one found.
    Lapsed,
}

/// What a tracked read found.
#[derive(Debug)]
pub struct TrackedRead {
    /// The whole entry, or nothing.
    pub answer: Result<Option<Bytes>, CacheError>,
    /// The connection that is notified of the next change of the entry; `None` if no connection is.
    pub tracked_on: Option<usize>,
}

/// The steps of the cache protocol. Each is atomic and safe to repeat; `docs/spec/cache.md` tells them in words.
///
/// `key` is the user's key; how it becomes a Redis key is the store's business (docs/keyspace.md).
///
/// Errors: [`CacheError::Link`] when the store could not be asked, or its answer was lost (then the step may have happened).
#[async_trait]
pub trait CacheSteps: Send + Sync {
    /// The whole entry, header and payload, or nothing. No script. It may be an entry whose end has passed: the header
    /// decides (see [`Entry`](super::header::Entry)).
    async fn read(&self, key: &[u8]) -> Result<Option<Bytes>, CacheError>;

    /// Asks for the right to load. Creates the entry if there is none.
    async fn lease(&self, key: &[u8], lease: &Lease) -> Result<Leased, CacheError>;

    /// Stores what was loaded. The lease may have lapsed or been stolen meanwhile; the generation may not have changed.
    async fn fill(&self, key: &[u8], fill: &Fill) -> Result<Filled, CacheError>;

    /// Gives the lease back after a failed load; nobody is granted another before `retry_after_ms`.
    async fn abandon(&self, key: &[u8], token: Token, retry_after_ms: u64) -> Result<(), CacheError>;

    /// Ends every load that began before. Absent entries stay absent: a load needs its entry to store anything.
    async fn invalidate(&self, key: &[u8], invalidation: &Invalidation) -> Result<(), CacheError>;

    /// Opens an update window. Creates the entry if there is none.
    async fn begin_write(&self, key: &[u8], begin: &BeginWrite) -> Result<Begun, CacheError>;

    /// Keeps an open window open for `window_ms` from now (and its suspect time with it). Never creates anything.
    async fn renew_write(&self, key: &[u8], token: Token, window_ms: u64) -> Result<Renewed, CacheError>;

    /// Closes the caller's own window, nobody else's, and invalidates once more whether or not the window was still open.
    async fn end_write(&self, key: &[u8], token: Token, invalidation: &Invalidation) -> Result<Ended, CacheError>;

    /// [`read`](Self::read) for several keys; on Redis in one write.
    async fn read_many(&self, keys: &[&[u8]]) -> Result<Vec<Result<Option<Bytes>, CacheError>>, CacheError> {
        Ok(together(keys.iter().map(|key| self.read(key))).await)
    }

    /// [`read_many`](Self::read_many), and the store sends a notification of the next change of each entry, if it can.
    async fn read_many_tracked(&self, keys: &[&[u8]]) -> Result<Vec<TrackedRead>, CacheError> {
        let answers = self.read_many(keys).await?;
        Ok(answers.into_iter().map(|answer| TrackedRead { answer, tracked_on: None }).collect())
    }

    /// [`fill`](Self::fill) on this epoch or not at all: the permission of a lease is worth nothing on a later one.
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
