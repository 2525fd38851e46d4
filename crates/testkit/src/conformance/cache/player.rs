//! Plays steps with usual settings, so that a story shows only what matters to it.

use super::Backend;
use bytes::Bytes;
use evenkeel::Token;
use evenkeel_protocol::cache::header::{Entry, Header, Verdict};
use evenkeel_protocol::cache::steps::{
    BeginWrite, Begun, CacheSteps, Ended, Fill, Filled, Generation, Grant, Invalidation, Lease, Leased, Mode, Renewed,
    Why,
};

/// How long a lease holds others off.
pub const LEASE_MS: u64 = 60_000;
/// How long an entry lives for its load.
pub const LIFE_MS: u64 = 600_000;
/// When a value is due for refresh.
pub const SOFT_MS: u64 = 1_800_000;
/// When a value ends.
pub const HARD_MS: u64 = 3_600_000;
/// How long an invalidated value may be served stale.
pub const RETAIN_MS: u64 = 120_000;
/// How long an update window stays open.
pub const WINDOW_MS: u64 = 90_000;
/// How long a transaction may continue after its window expired.
pub const SUSPECT_MS: u64 = 300_000;
/// How long a value lives that is stored in that time.
pub const SUSPECT_LIFE_MS: u64 = 30_000;
/// How far replicas may lag.
pub const LAG_MS: u64 = 100_000;
/// The schema of this program's values.
pub const SCHEMA: u32 = 0x51CE_0001;

/// What a reader finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    /// A value to serve.
    Hit(String),
    /// A value to serve and to refresh.
    Due(String),
    /// An invalidated value.
    Stale(String),
    /// Nothing.
    Miss,
}

/// Shorthand for [`Served::Hit`].
pub fn hit(value: &str) -> Served {
    Served::Hit(value.to_owned())
}

/// Shorthand for [`Served::Stale`].
pub fn stale(value: &str) -> Served {
    Served::Stale(value.to_owned())
}

/// One key and all its users.
#[derive(Debug)]
pub struct Player<'a, B> {
    backend: &'a B,
    key: &'static [u8],
}

impl<'a, B: Backend> Player<'a, B> {
    /// Plays on one key of the backend.
    pub fn new(backend: &'a B) -> Self {
        Self { backend, key: b"user/42" }
    }

    /// What a reader finds at the store's present time.
    pub async fn read(&self) -> Served {
        let Some(bytes) = self.backend.steps().read(self.key).await.unwrap() else { return Served::Miss };
        let entry = Entry::parse(bytes).unwrap();
        let value = String::from_utf8(entry.payload.to_vec()).unwrap();
        match entry.header.verdict(self.backend.now_ms()) {
            Verdict::Hit => Served::Hit(value),
            Verdict::Due => Served::Due(value),
            Verdict::Stale => Served::Stale(value),
            Verdict::Miss => Served::Miss,
        }
    }

    /// The stored bytes.
    pub async fn bytes(&self) -> Option<Bytes> {
        self.backend.steps().read(self.key).await.unwrap()
    }

    /// The stored header; there must be one.
    pub async fn header(&self) -> Header {
        Entry::parse(self.bytes().await.expect("an entry")).unwrap().header
    }

    /// Puts bytes where the entry is.
    pub async fn put(&self, bytes: Bytes) {
        self.backend.put(self.key, bytes).await;
    }

    /// Evicts the entry.
    pub async fn evict(&self) {
        self.backend.evict(self.key).await;
    }

    /// Lets time pass.
    pub async fn advance(&self, span_ms: u64) {
        self.backend.advance(span_ms).await;
    }

    /// A lease as asked.
    pub async fn lease_with(&self, lease: &Lease) -> Leased {
        self.backend.steps().lease(self.key, lease).await.unwrap()
    }

    /// A lease by a new reader.
    pub async fn lease(&self, why: Why) -> Leased {
        self.lease_with(&asked(why)).await
    }

    /// A lease by a new reader for a miss, which must be granted.
    pub async fn grant(&self) -> Grant {
        granted(self.lease(Why::Miss).await)
    }

    /// Stores with the given fields.
    pub async fn fill_with(&self, fill: Fill) -> Filled {
        self.backend.steps().fill(self.key, &fill).await.unwrap()
    }

    /// Stores a value without a version.
    pub async fn fill(&self, grant: Grant, value: &str) -> Filled {
        self.fill_with(loaded(grant, value)).await
    }

    /// Loads and stores at once.
    pub async fn load(&self, value: &str) {
        let grant = self.grant().await;
        assert_eq!(self.fill(grant, value).await, Filled::Stored);
    }

    /// Abandons a lease after a failure.
    pub async fn abandon(&self, token: Token, retry_after_ms: u64) {
        self.backend.steps().abandon(self.key, token, retry_after_ms).await.unwrap();
    }

    /// Invalidates with the given fields.
    pub async fn invalidate_with(&self, invalidation: &Invalidation) {
        self.backend.steps().invalidate(self.key, invalidation).await.unwrap();
    }

    /// Invalidates; the old value may be served stale for [`RETAIN_MS`].
    pub async fn expire(&self) {
        self.invalidate_with(&expiring()).await;
    }

    /// Invalidates; the old value is never served again.
    pub async fn purge(&self) {
        self.invalidate_with(&Invalidation { mode: Mode::Purge, ..expiring() }).await;
    }

    /// Opens an update window with the given fields.
    pub async fn begin_with(&self, begin: &BeginWrite) -> Begun {
        self.backend.steps().begin_write(self.key, begin).await.unwrap()
    }

    /// Opens an update window for a writer.
    pub async fn begin(&self, writer: Token) -> Begun {
        self.begin_with(&opening(writer)).await
    }

    /// Renews a writer's window.
    pub async fn renew(&self, writer: Token) -> Renewed {
        self.backend.steps().renew_write(self.key, writer, WINDOW_MS).await.unwrap()
    }

    /// Ends a writer's window with the given fields.
    pub async fn end_with(&self, writer: Token, invalidation: &Invalidation) -> Ended {
        self.backend.steps().end_write(self.key, writer, invalidation).await.unwrap()
    }

    /// Ends a writer's window.
    pub async fn end(&self, writer: Token) -> Ended {
        self.end_with(writer, &expiring()).await
    }
}

/// A lease requested by a new reader.
pub fn asked(why: Why) -> Lease {
    Lease {
        token: Token::random(),
        generation: Generation::random(),
        lease_ms: LEASE_MS,
        life_ms: LIFE_MS,
        why,
        schema: SCHEMA,
        lag_ms_max: 0,
    }
}

/// The grant in an answer; there must be one.
#[track_caller]
pub fn granted(leased: Leased) -> Grant {
    match leased {
        Leased::Granted(grant) => grant,
        other => panic!("expected a grant, got {other:?}"),
    }
}

/// A fill of a value without a version.
pub fn loaded(grant: Grant, value: &str) -> Fill {
    Fill {
        grant,
        version: None,
        absent: false,
        codec: 3,
        compression: 1,
        payload: Bytes::copy_from_slice(value.as_bytes()),
        soft_ms: SOFT_MS,
        hard_ms: HARD_MS,
        spare_ms: 0,
        suspect_ms: SUSPECT_LIFE_MS,
        replica_lag_ms: 0,
    }
}

/// An invalidation that keeps the old value for [`RETAIN_MS`].
pub fn expiring() -> Invalidation {
    Invalidation {
        generation: Generation::random(),
        floor: None,
        mode: Mode::Expire { retain_ms: RETAIN_MS },
        lag_ms_max: 0,
    }
}

/// A writer's call that opens a window.
pub fn opening(writer: Token) -> BeginWrite {
    BeginWrite { token: writer, invalidation: expiring(), window_ms: WINDOW_MS, suspect_ms: SUSPECT_MS, schema: SCHEMA }
}
