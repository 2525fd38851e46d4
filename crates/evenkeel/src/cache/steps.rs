//! The atomic steps of the cache protocol: what the Lua scripts and the model (`memory.rs`) both implement.
//!
//! Times are milliseconds. `now` is Redis's `TIME` in the scripts and the handed clock in the model.

use crate::token::Token;
use bytes::Bytes;
use std::future::Future;

use super::error::CacheError;

/// 64 random bits, drawn by the caller for each attempt; it carries correctness. Compared as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Generation(pub [u8; 8]);

/// Why a lease is asked for; the store judges by its own time whether the reason holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The read found nothing that may be served.
    Miss,
    /// The read found a value past its soft expiry.
    Refresh,
    /// The read found an invalidated value that may still be served for a while.
    Stale,
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
}

/// What a lease call found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leased {
    /// Load; then `fill` with these.
    Granted {
        /// The entry's generation as the lease saw it.
        generation: Generation,
        /// Ordinal of the lease within the generation.
        grant: u32,
    },
    /// Somebody's load landed meanwhile: the whole entry as `read` would give it.
    Landed(Bytes),
    /// Somebody else is loading, or a failed load asks for patience.
    Wait {
        /// When to ask again at the latest.
        retry_after_ms: u64,
    },
    /// An update window is open: nothing may be stored.
    Writing {
        /// When the last window lapses.
        retry_after_ms: u64,
    },
    /// This entry belongs to another schema: load without storing.
    OtherSchema,
}

/// Stores what was loaded under a lease.
#[derive(Clone, Debug)]
pub struct Fill {
    /// From [`Leased::Granted`].
    pub generation: Generation,
    /// From [`Leased::Granted`].
    pub grant: u32,
    /// The row's version, when the loader knows one.
    pub version: Option<u64>,
    /// Whether the row is absent (the payload is empty then).
    pub absent: bool,
    /// Encoded value.
    pub payload: Bytes,
    /// From now until a refresh is due.
    pub soft_ms: u64,
    /// From now until the entry ends.
    pub hard_ms: u64,
}

/// What a fill did. Nothing but `Stored` changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// The value is in (also the answer to a repeated call).
    Stored,
    /// An invalidation, or a newer load, came first.
    Superseded,
    /// The value is older than what the entry is known to have to be.
    BelowFloor,
    /// The entry is gone: evicted, expired or flushed, and the permission with it.
    Gone,
}

/// Whether the old value may still be served after an invalidation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It may be served stale while one reader reloads, for at most this long.
    Expire {
        /// How long the old value is kept.
        keep_ms: u64,
    },
    /// It is never served again.
    Purge,
}

/// The steps of the cache protocol. Each is atomic and safe to repeat; docs/spec/cache.md tells them in words.
pub trait CacheSteps: Send + Sync {
    /// The whole entry, header and payload, or nothing. No script.
    fn read(&self, key: &[u8]) -> impl Future<Output = Result<Option<Bytes>, CacheError>> + Send;
    /// Asks for the right to load.
    fn lease(&self, key: &[u8], lease: &Lease) -> impl Future<Output = Result<Leased, CacheError>> + Send;
    /// Stores what was loaded.
    fn fill(&self, key: &[u8], fill: &Fill) -> impl Future<Output = Result<Filled, CacheError>> + Send;
    /// Gives the lease back after a failed load; nobody is granted another before `retry_after_ms`.
    fn abandon(
        &self,
        key: &[u8],
        token: Token,
        retry_after_ms: u64,
    ) -> impl Future<Output = Result<(), CacheError>> + Send;
    /// Ends every load that began before; `generation` is the new one. Absent entries stay absent.
    fn invalidate(
        &self,
        key: &[u8],
        generation: Generation,
        floor: Option<u64>,
        mode: Mode,
    ) -> impl Future<Output = Result<(), CacheError>> + Send;
}
