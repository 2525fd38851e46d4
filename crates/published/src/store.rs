//! The plain operations that the published protocols need, on Redis or in this process.

use bytes::Bytes;
use evenkeel::cache::{CacheError, ProtocolStore};
use evenkeel_link::Script;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::header::{Entry, Header, Value};
use evenkeel_protocol::cache::keys::CacheKeys;
use evenkeel_protocol::cache::memory::{EntryStore, Next};
use evenkeel_protocol::cache::redis::or_foreign;
use evenkeel_protocol::cache::steps::{Fill, Generation};

static GRANT: Script = Script::new("grant-1", include_str!("scripts/grant-1.lua"));
static REPLACE_TOKEN: Script = Script::new("replace-token-1", include_str!("scripts/replace-token-1.lua"));
static SET_IF_NOT_OLDER: Script = Script::new("set-if-not-older-1", include_str!("scripts/set-if-not-older-1.lua"));

/// The entries of one cache: on Redis plain commands and three short scripts, in this process the table of the keel.
#[derive(Clone)]
pub(super) struct PlainStore {
    pub(super) keys: CacheKeys,
    /// For the timer of the second delete, and the time of a store in this process.
    pub(super) clock: Clock,
    pub(super) place: ProtocolStore,
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
    /// The store's time in ms; for Redis an estimate that is precise enough for a ttl.
    pub(super) fn now_ms(&self) -> u64 {
        match &self.place {
            ProtocolStore::Redis(link) => link.server_now_ms(),
            ProtocolStore::Memory(_) => self.clock.unix_ms(),
        }
    }

    /// The entry, which may have expired.
    pub(super) async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, CacheError> {
        match &self.place {
            ProtocolStore::Redis(link) => or_foreign(link.get(&self.keys.key(key)).await.map_err(CacheError::from)),
            ProtocolStore::Memory(entries) => Ok(entries.get(&self.keys.key(key))),
        }
    }

    pub(super) async fn set(&self, key: &[u8], entry: Entry, ttl_ms: u64) -> Result<(), CacheError> {
        match &self.place {
            ProtocolStore::Redis(link) => {
                let key = self.keys.key(key);
                let mut set = redis::cmd("SET");
                set.arg(&key).arg(&*entry.to_bytes()).arg("PX").arg(ttl_ms.max(1));
                link.command(&key, &set).await?;
            }
            ProtocolStore::Memory(entries) => self.change(entries, key, |_| (Next::Write(entry), ())),
        }
        Ok(())
    }

    pub(super) async fn delete(&self, key: &[u8]) -> Result<(), CacheError> {
        match &self.place {
            ProtocolStore::Redis(link) => {
                let key = self.keys.key(key);
                link.command(&key, redis::cmd("DEL").arg(&key)).await?;
            }
            ProtocolStore::Memory(entries) => self.change(entries, key, |_| (Next::Delete, ())),
        }
        Ok(())
    }

    /// Grants the token in `placeholder` unless there is a value or another token.
    pub(super) async fn grant(
        &self,
        key: &[u8],
        placeholder: Entry,
        token: &Generation,
        ttl_ms: u64,
    ) -> Result<Granted, CacheError> {
        match &self.place {
            ProtocolStore::Redis(link) => {
                let (placeholder, ttl) = (placeholder.to_bytes(), ttl_ms.max(1).to_string());
                let arguments: [&[u8]; 3] = [&placeholder, ttl.as_bytes(), &token.0];
                let (remaining_ms, value): (i64, Option<Vec<u8>>) =
                    link.run(&GRANT, &[&self.keys.key(key)], &arguments).await?;
                Ok(match (value, u64::try_from(remaining_ms)) {
                    (Some(value), _) => Granted::Value(value.into()),
                    (None, Ok(remaining_ms)) => Granted::Held { remaining_ms },
                    (None, Err(_)) => Granted::Yes,
                })
            }
            ProtocolStore::Memory(entries) => {
                let now_ms = self.now_ms();
                Ok(self.change(entries, key, |found| match found {
                    Some((header, bytes)) if header.value.is_some() => (Next::Keep, Granted::Value(bytes)),
                    Some((header, _)) if header.generation != *token => {
                        let remaining_ms = header.ends_at_ms.saturating_sub(now_ms);
                        (Next::Keep, Granted::Held { remaining_ms })
                    }
                    _ => (Next::Write(placeholder), Granted::Yes),
                }))
            }
        }
    }

    /// Replaces `token` by `entry`, or removes it if `entry` is `None`; false if the token is void.
    pub(super) async fn replace_token(
        &self,
        key: &[u8],
        token: &Generation,
        entry: Option<Entry>,
        ttl_ms: u64,
    ) -> Result<bool, CacheError> {
        match &self.place {
            ProtocolStore::Redis(link) => {
                let entry = entry.map(|entry| entry.to_bytes()).unwrap_or_default();
                let ttl = ttl_ms.max(1).to_string();
                let arguments: [&[u8]; 3] = [&token.0, &entry, ttl.as_bytes()];
                Ok(link.run(&REPLACE_TOKEN, &[&self.keys.key(key)], &arguments).await?)
            }
            ProtocolStore::Memory(entries) => Ok(self.change(entries, key, |found| {
                let stands = found.map(|(header, _)| header.generation);
                if guard("model_lease_protocol_token") && stands != Some(*token) {
                    return (Next::Keep, false);
                }
                (entry.map_or(Next::Delete, Next::Write), true)
            })),
        }
    }

    /// Stores `entry` with its `version` unless a newer version is stored.
    pub(super) async fn set_if_not_older(
        &self,
        key: &[u8],
        version: u64,
        entry: Entry,
        ttl_ms: u64,
    ) -> Result<bool, CacheError> {
        match &self.place {
            ProtocolStore::Redis(link) => {
                let ttl = ttl_ms.max(1).to_string();
                let arguments: [&[u8]; 3] = [&version.to_be_bytes(), &entry.to_bytes(), ttl.as_bytes()];
                Ok(link.run(&SET_IF_NOT_OLDER, &[&self.keys.key(key)], &arguments).await?)
            }
            ProtocolStore::Memory(entries) => Ok(self.change(entries, key, |found| {
                let stored = found.map_or(0, |(header, _)| header.floor);
                if guard("model_version_protocol_compare") && stored > version {
                    return (Next::Keep, false);
                }
                (Next::Write(entry), true)
            })),
        }
    }

    /// Reads a live entry of this process and changes it in one atomic step.
    fn change<T>(
        &self,
        entries: &EntryStore,
        key: &[u8],
        decide: impl FnOnce(Option<(Header, Bytes)>) -> (Next, T),
    ) -> T {
        let now_ms = self.clock.unix_ms();
        entries.update(&self.keys.key(key), now_ms, |stored| {
            let live = stored.and_then(|bytes| Some((Header::parse(&bytes).ok()?.0, bytes)));
            decide(live.filter(|(header, _)| header.ends_at_ms > now_ms))
        })
    }
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
            floor,
            ..Header::default()
        },
        payload: fill.payload.clone(),
    }
}
