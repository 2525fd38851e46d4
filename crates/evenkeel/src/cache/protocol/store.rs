//! The plain operations that the published protocols need, on Redis or in this process.

use bytes::Bytes;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use evenkeel_link::{Link, Script};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::header::{Entry, Header, Value};
use evenkeel_protocol::cache::keys::CacheKeys;
use evenkeel_protocol::cache::redis::or_foreign;
use evenkeel_protocol::cache::steps::{Fill, Generation, Grant, Lease, Leased};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

static GRANT: Script = Script::new("grant-1", include_str!("scripts/grant-1.lua"));
static REPLACE_TOKEN: Script = Script::new("replace-token-1", include_str!("scripts/replace-token-1.lua"));
static SET_IF_NOT_OLDER: Script = Script::new("set-if-not-older-1", include_str!("scripts/set-if-not-older-1.lua"));

/// The scripts of the published protocols, for the link to load on every epoch.
pub(crate) fn scripts() -> [&'static Script; 3] {
    [&GRANT, &REPLACE_TOKEN, &SET_IF_NOT_OLDER]
}

/// The store of the published protocols.
#[derive(Clone)]
pub(crate) enum PlainStore {
    /// Plain commands and three short scripts.
    Redis {
        /// The link to Redis.
        link: Link,
        /// For the timer of the second delete.
        clock: Clock,
        /// Builds the Redis key.
        keys: CacheKeys,
    },
    /// A map in this process.
    Memory(PlainMap),
}

/// The result of a token request.
pub(super) enum Granted {
    /// The caller has the token.
    Yes,
    /// Another caller has a token.
    Held {
        /// Time until it expires.
        remaining_ms: u64,
    },
    /// There is a value.
    Value(Bytes),
}

impl PlainStore {
    /// Over Redis.
    pub(crate) fn redis(link: Link, clock: Clock, keys: CacheKeys) -> Self {
        Self::Redis { link, clock, keys }
    }

    /// In this process.
    pub(crate) fn memory(entries: PlainEntries, clock: Clock, keys: CacheKeys) -> Self {
        Self::Memory(PlainMap { entries, clock, keys })
    }

    pub(super) fn clock(&self) -> &Clock {
        match self {
            Self::Redis { clock, .. } => clock,
            Self::Memory(map) => &map.clock,
        }
    }

    /// The store's time in ms; for Redis an estimate that is precise enough for a ttl.
    pub(super) fn now_ms(&self) -> u64 {
        match self {
            Self::Redis { link, .. } => link.server_now_ms(),
            Self::Memory(map) => map.clock.unix_ms(),
        }
    }

    pub(super) async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, CacheError> {
        match self {
            Self::Redis { link, keys, .. } => or_foreign(link.get(&keys.key(key)).await.map_err(CacheError::from)),
            Self::Memory(map) => Ok(map.change(key, |found| (Change::Keep, found.cloned()))),
        }
    }

    pub(super) async fn set(&self, key: &[u8], entry: &[u8], ttl_ms: u64) -> Result<(), CacheError> {
        match self {
            Self::Redis { link, keys, .. } => {
                let key = keys.key(key);
                let mut set = redis::cmd("SET");
                set.arg(&key).arg(entry).arg("PX").arg(ttl_ms.max(1));
                link.command(&key, &set).await?;
            }
            Self::Memory(map) => map.change(key, |_| (Change::Put(entry, ttl_ms), ())),
        }
        Ok(())
    }

    pub(super) async fn delete(&self, key: &[u8]) -> Result<(), CacheError> {
        match self {
            Self::Redis { link, keys, .. } => {
                let key = keys.key(key);
                link.command(&key, redis::cmd("DEL").arg(&key)).await?;
            }
            Self::Memory(map) => map.change(key, |_| (Change::Remove, ())),
        }
        Ok(())
    }

    /// Grants the token in `placeholder` unless there is a value or another token.
    pub(super) async fn grant(
        &self,
        key: &[u8],
        placeholder: &[u8],
        token: &Generation,
        ttl_ms: u64,
    ) -> Result<Granted, CacheError> {
        match self {
            Self::Redis { link, keys, .. } => {
                let ttl = ttl_ms.max(1).to_string();
                let arguments: [&[u8]; 3] = [placeholder, ttl.as_bytes(), &token.0];
                let (remaining_ms, value): (i64, Option<Vec<u8>>) =
                    link.run(&GRANT, &[&keys.key(key)], &arguments).await?;
                Ok(match (value, u64::try_from(remaining_ms)) {
                    (Some(value), _) => Granted::Value(value.into()),
                    (None, Ok(remaining_ms)) => Granted::Held { remaining_ms },
                    (None, Err(_)) => Granted::Yes,
                })
            }
            Self::Memory(map) => {
                let now_ms = self.now_ms();
                Ok(map.change(key, |found| match found.and_then(|bytes| Some((Header::parse(bytes).ok()?.0, bytes))) {
                    Some((header, bytes)) if header.value.is_some() => (Change::Keep, Granted::Value(bytes.clone())),
                    Some((header, _)) if header.generation != *token => {
                        let remaining_ms = header.ends_at_ms.saturating_sub(now_ms);
                        (Change::Keep, Granted::Held { remaining_ms })
                    }
                    _ => (Change::Put(placeholder, ttl_ms), Granted::Yes),
                }))
            }
        }
    }

    /// Replaces `token` by `entry`, or removes it if `entry` is `None`; false if the token is void.
    pub(super) async fn replace_token(
        &self,
        key: &[u8],
        token: &Generation,
        entry: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, CacheError> {
        match self {
            Self::Redis { link, keys, .. } => {
                let ttl = ttl_ms.max(1).to_string();
                let arguments: [&[u8]; 3] = [&token.0, entry.unwrap_or_default(), ttl.as_bytes()];
                Ok(link.run(&REPLACE_TOKEN, &[&keys.key(key)], &arguments).await?)
            }
            Self::Memory(map) => Ok(map.change(key, |found| {
                let stands = found.and_then(|bytes| Header::parse(bytes).ok()).map(|(header, _)| header.generation);
                if guard("model_lease_protocol_token") && stands != Some(*token) {
                    return (Change::Keep, false);
                }
                (entry.map_or(Change::Remove, |entry| Change::Put(entry, ttl_ms)), true)
            })),
        }
    }

    /// Stores `entry` with its `version` unless a newer version is stored.
    pub(super) async fn set_if_not_older(
        &self,
        key: &[u8],
        version: u64,
        entry: &[u8],
        ttl_ms: u64,
    ) -> Result<bool, CacheError> {
        match self {
            Self::Redis { link, keys, .. } => {
                let ttl = ttl_ms.max(1).to_string();
                let arguments: [&[u8]; 3] = [&version.to_be_bytes(), entry, ttl.as_bytes()];
                Ok(link.run(&SET_IF_NOT_OLDER, &[&keys.key(key)], &arguments).await?)
            }
            Self::Memory(map) => Ok(map.change(key, |found| {
                let stored = found.and_then(|bytes| Header::parse(bytes).ok()).map_or(0, |(header, _)| header.floor);
                if guard("model_version_protocol_compare") && stored > version {
                    return (Change::Keep, false);
                }
                (Change::Put(entry, ttl_ms), true)
            })),
        }
    }
}

/// A map in this process. It has no size limit, because the published protocols exist for comparison.
#[derive(Clone)]
pub(crate) struct PlainMap {
    entries: PlainEntries,
    clock: Clock,
    keys: CacheKeys,
}

/// Entries and their expiry times in ms; shared by the caches of one keel.
pub(crate) type PlainEntries = Arc<Mutex<HashMap<Vec<u8>, (Bytes, u64)>>>;

/// What to do with an entry after reading it.
enum Change<'a> {
    Keep,
    Put(&'a [u8], u64),
    Remove,
}

impl PlainMap {
    /// Reads a live entry and changes it in one atomic step.
    fn change<'a, T>(&self, key: &[u8], decide: impl FnOnce(Option<&Bytes>) -> (Change<'a>, T)) -> T {
        let now_ms = self.clock.unix_ms();
        let key = self.keys.key(key);
        let mut entries = self.entries.lock();
        if entries.get(&key).is_some_and(|(_, ends_at_ms)| *ends_at_ms <= now_ms) {
            entries.remove(&key);
        }
        let (change, answer) = decide(entries.get(&key).map(|(bytes, _)| bytes));
        match change {
            Change::Keep => {}
            Change::Put(entry, ttl_ms) => {
                entries.insert(key, (Bytes::copy_from_slice(entry), now_ms.saturating_add(ttl_ms)));
            }
            Change::Remove => {
                entries.remove(&key);
            }
        }
        answer
    }
}

/// The protocols without a lease grant every request.
pub(super) fn grant_unconditionally(store: &PlainStore, lease: &Lease) -> Leased {
    let at_ms = store.now_ms();
    Leased::Granted(Grant { generation: lease.generation, ordinal: 1, at_ms, primary_required: false })
}

/// The entry that a fill stores under all three protocols. The floor stores the version at a fixed offset.
pub(super) fn entry_of(fill: &Fill, schema: u32, floor: u64) -> Entry {
    let at_ms = fill.grant.at_ms;
    let hard_until_ms = at_ms.saturating_add(fill.hard_ms);
    Entry {
        header: Header {
            schema,
            generation: fill.grant.generation,
            granted: fill.grant.ordinal,
            filled: fill.grant.ordinal,
            ends_at_ms: hard_until_ms,
            value: Some(Value {
                loaded_at_ms: at_ms,
                // None of the published protocols refreshes ahead.
                soft_until_ms: hard_until_ms,
                hard_until_ms,
                version: fill.version,
                absent: fill.absent,
                stale: false,
                codec: fill.codec,
                compression: fill.compression,
            }),
            lease: None,
            floor,
            cold: false,
            guard_until_ms: 0,
            suspect_until_ms: 0,
            windows: Vec::new(),
        },
        payload: fill.payload.clone(),
    }
}
