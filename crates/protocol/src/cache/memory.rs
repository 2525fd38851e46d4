//! The model: the cache protocol as a state machine without I/O. It is the embedded backend, an executable specification to
//! read next to `docs/spec/cache.md`, and the oracle with which the scripts are compared.
//!
//! Every step is one function of one entry: it receives the stored entry, the time and the call's arguments, and
//! returns the new entry and the reply. Rules that the mutant table removes are marked by their guards.

mod entry;
pub mod listeners;
pub use listeners::EntryListener;
pub mod store;
mod tidy;

pub use store::EntryStore;

use super::error::CacheError;
use super::header::{Entry, LeaseBlock, Value, Window};
use super::keys::CacheKeys;
use super::steps::{
    BeginWrite, Begun, CacheSteps, Ended, Fill, Filled, Grant, Invalidation, Lease, Leased, Renewed, TrackedRead,
    WINDOWS_MAX,
};
use async_trait::async_trait;
use bytes::Bytes;
use entry::span;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use std::sync::Arc;
use tidy::Found;

/// The steps of one cache over the embedded store.
#[derive(Clone, Debug)]
pub struct MemoryCache {
    store: Arc<EntryStore>,
    clock: Clock,
    keys: CacheKeys,
}

impl MemoryCache {
    /// The cache whose entries live under `keys` in `store`; several caches may share a store.
    #[must_use]
    pub fn new(store: Arc<EntryStore>, clock: Clock, keys: CacheKeys) -> Self {
        Self { store, clock, keys }
    }

    /// Runs one step while it holds the entry's shard exclusively.
    fn step<R>(&self, key: &[u8], rules: impl FnOnce(Found, u64) -> Outcome<R>) -> R {
        let now_ms = self.clock.unix_ms();
        self.store.update(&self.keys.key(key), now_ms, |stored| rules(Found::tidy(stored, now_ms), now_ms))
    }
}

#[async_trait]
impl CacheSteps for MemoryCache {
    async fn read(&self, key: &[u8]) -> Result<Option<Bytes>, CacheError> {
        Ok(self.store.get(&self.keys.key(key)))
    }

    async fn lease(&self, key: &[u8], ask: &Lease) -> Result<Leased, CacheError> {
        Ok(self.step(key, |found, now_ms| lease(found, now_ms, ask)))
    }

    async fn fill(&self, key: &[u8], with: &Fill) -> Result<Filled, CacheError> {
        Ok(self.step(key, |found, now_ms| fill(found, now_ms, with)))
    }

    async fn abandon(&self, key: &[u8], token: Token, retry_after_ms: u64) -> Result<(), CacheError> {
        self.step(key, |found, now_ms| abandon(found, now_ms, token, retry_after_ms));
        Ok(())
    }

    async fn invalidate(&self, key: &[u8], invalidation: &Invalidation) -> Result<(), CacheError> {
        self.step(key, |found, now_ms| invalidate(found, now_ms, invalidation));
        Ok(())
    }

    async fn begin_write(&self, key: &[u8], begin: &BeginWrite) -> Result<Begun, CacheError> {
        Ok(self.step(key, |found, now_ms| begin_write(found, now_ms, begin)))
    }

    async fn renew_write(&self, key: &[u8], token: Token, window_ms: u64) -> Result<Renewed, CacheError> {
        Ok(self.step(key, |found, now_ms| renew_write(found, now_ms, token, window_ms)))
    }

    async fn end_write(&self, key: &[u8], token: Token, invalidation: &Invalidation) -> Result<Ended, CacheError> {
        Ok(self.step(key, |found, now_ms| end_write(found, now_ms, token, invalidation)))
    }

    async fn read_many_tracked(&self, keys: &[&[u8]]) -> Result<Vec<TrackedRead>, CacheError> {
        let read = |key: &&[u8]| TrackedRead { answer: Ok(self.store.get(&self.keys.key(key))), tracked_on: Some(0) };
        Ok(keys.iter().map(read).collect())
    }

    fn tracks(&self) -> bool {
        true
    }
}

/// What happens to the stored entry.
#[derive(Debug)]
pub enum Next {
    /// The stored bytes are not changed.
    Keep,
    /// The entry is replaced by this one.
    Write(Entry),
    /// The entry is deleted.
    Delete,
}

/// A step's effect and its reply.
type Outcome<R> = (Next, R);

fn keep<R>(answer: R) -> Outcome<R> {
    (Next::Keep, answer)
}

fn write<R>(entry: Entry, answer: R) -> Outcome<R> {
    (Next::Write(entry), answer)
}

fn lease(found: Found, now_ms: u64, ask: &Lease) -> Outcome<Leased> {
    let (mut entry, stored) = match found {
        Found::NewerFormat if guard("model_lease_newer_format") => return keep(Leased::OtherSchema),
        Found::Nothing | Found::Corrupt | Found::NewerFormat => {
            let ends_at_ms = now_ms + span(ask.life_ms);
            (Entry::create(now_ms, ask.generation, ask.schema, ends_at_ms), Bytes::new())
        }
        Found::Entry { entry, stored } => (entry, stored),
    };
    if guard("model_lease_window")
        && let Some(last) = entry.header.windows.iter().map(|window| window.until_ms).max()
    {
        return keep(Leased::Writing { retry_after_ms: last - now_ms });
    }
    let held = entry.header.lease.filter(|lease| now_ms < lease.until_ms);
    // A lease from the future was granted before the clock was set back; it would block all other readers until that time.
    let mut held = held.filter(|lease| lease.at_ms <= now_ms || !guard("model_lease_future"));
    if entry.header.schema != ask.schema {
        if guard("model_lease_schema") && (held.is_some() || entry.servable(now_ms).is_some()) {
            return keep(Leased::OtherSchema);
        }
        entry.drop_value();
        entry.header.schema = ask.schema;
        held = None;
        if guard("model_takeover_generation") {
            entry.begin_generation(ask.generation);
        }
    }
    if let Some(held) = held
        && guard("model_lease_repeat")
        && held.token == Some(ask.token)
    {
        return keep(Leased::Granted(grant(&entry, held.at_ms, ask)));
    }
    if entry.satisfies(ask.why, now_ms) {
        return keep(Leased::AlreadyStored(stored));
    }
    if let Some(held) = held
        && guard("model_lease_exclusive")
    {
        let retry_after_ms = held.until_ms - now_ms;
        return keep(match held.token {
            Some(_) => Leased::Wait { retry_after_ms },
            None => Leased::Failing { retry_after_ms },
        });
    }
    entry.header.granted = entry.header.granted.saturating_add(1);
    entry.header.lease =
        Some(LeaseBlock { token: Some(ask.token), at_ms: now_ms, until_ms: now_ms + span(ask.lease_ms) });
    if guard("model_lease_life") {
        entry.extend_to(now_ms + span(ask.life_ms));
    }
    // Created, or invalidated by programs that read no replicas: the last invalidation may have been just now.
    if ask.lag_ms_max > 0 && entry.header.invalidated_at_ms == 0 && guard("model_unknown_invalidation") {
        entry.header.invalidated_at_ms = now_ms;
    }
    let granted = grant(&entry, now_ms, ask);
    write(entry, Leased::Granted(granted))
}

fn grant(entry: &Entry, at_ms: u64, ask: &Lease) -> Grant {
    let header = &entry.header;
    let primary_required = entry.may_lack_writes(ask.lag_ms_max, at_ms);
    Grant { generation: header.generation, ordinal: header.granted, at_ms, primary_required }
}

fn fill(found: Found, now_ms: u64, with: &Fill) -> Outcome<Filled> {
    let Found::Entry { mut entry, .. } = found else { return keep(Filled::Gone) };
    let lacks_writes = entry.may_lack_writes(with.replica_lag_ms, with.grant.at_ms);
    let header = &mut entry.header;
    let ordinal = with.grant.ordinal;
    if guard("model_fill_generation") && with.grant.generation != header.generation {
        return keep(Filled::Superseded);
    }
    if guard("model_fill_known_grant") && ordinal > header.granted {
        return keep(Filled::Superseded); // a failover reverted the lease, and its ordinal will be granted again
    }
    if guard("model_fill_grant") && ordinal < header.filled {
        return keep(Filled::Superseded);
    }
    if guard("model_floor") && with.version.is_some_and(|version| version < header.floor) {
        return keep(Filled::BelowFloor);
    }
    if guard("model_fill_replica") && lacks_writes {
        return keep(Filled::BelowFloor);
    }
    let mut hard_until_ms = with.grant.at_ms.saturating_add(span(with.hard_ms));
    if guard("model_suspect_life") && now_ms < header.suspect_until_ms {
        hard_until_ms = hard_until_ms.min(now_ms + span(with.suspect_ms));
    }
    if guard("model_fill_life") && hard_until_ms <= now_ms {
        return keep(Filled::Gone);
    }
    header.value = Some(Value {
        loaded_at_ms: with.grant.at_ms,
        soft_until_ms: hard_until_ms.min(with.grant.at_ms.saturating_add(span(with.soft_ms))),
        hard_until_ms,
        version: with.version,
        absent: with.absent,
        stale: false,
        codec: with.codec,
        compression: with.compression,
    });
    header.filled = ordinal;
    if guard("model_floor_raised") {
        header.floor = header.floor.max(with.version.unwrap_or(0));
    }
    if ordinal == header.granted {
        header.lease = None;
        header.ends_at_ms = header.suspect_until_ms; // no later load needs the entry
    }
    entry.payload = with.payload.clone();
    entry.extend_to(hard_until_ms);
    if guard("model_spare_life") {
        entry.extend_to(with.grant.at_ms.saturating_add(span(with.spare_ms)));
    }
    write(entry, Filled::Stored)
}

fn abandon(found: Found, now_ms: u64, token: Token, retry_after_ms: u64) -> Outcome<()> {
    let Found::Entry { mut entry, .. } = found else { return keep(()) };
    let Some(lease) = &mut entry.header.lease else { return keep(()) };
    if lease.token.is_none() || (guard("model_abandon_token") && lease.token != Some(token)) {
        return keep(());
    }
    *lease = LeaseBlock { token: None, at_ms: now_ms, until_ms: now_ms + span(retry_after_ms) };
    write(entry, ())
}

fn invalidate(found: Found, now_ms: u64, invalidation: &Invalidation) -> Outcome<()> {
    match found {
        Found::Nothing => keep(()),
        Found::Corrupt | Found::NewerFormat => (Next::Delete, ()),
        Found::Entry { mut entry, .. } => {
            entry.invalidate(now_ms, invalidation);
            write(entry, ())
        }
    }
}

fn begin_write(found: Found, now_ms: u64, begin: &BeginWrite) -> Outcome<Begun> {
    let mut entry = match found {
        Found::Entry { entry, .. } => entry,
        _ => Entry::create(now_ms, begin.invalidation.generation, begin.schema, now_ms),
    };
    let windows = &entry.header.windows;
    if let Some(own) = windows.iter().find(|window| guard("model_begin_repeat") && window.token == begin.token) {
        return keep(Begun::Open { remaining_ms: own.until_ms - now_ms });
    }
    if guard("model_window_busy") && windows.len() >= WINDOWS_MAX {
        let first = windows.iter().map(|window| window.until_ms).min().unwrap_or(now_ms);
        return keep(Begun::Busy { retry_after_ms: first - now_ms });
    }
    entry.invalidate(now_ms, &begin.invalidation);
    let until_ms = now_ms + span(begin.window_ms);
    let suspect_until_ms = until_ms + span(begin.suspect_ms);
    entry.header.windows.push(Window { token: begin.token, until_ms, suspect_until_ms });
    entry.extend_to(suspect_until_ms);
    write(entry, Begun::Open { remaining_ms: until_ms - now_ms })
}

fn renew_write(found: Found, now_ms: u64, token: Token, window_ms: u64) -> Outcome<Renewed> {
    let Found::Entry { mut entry, .. } = found else { return keep(Renewed::Lost) };
    let Some(own) = entry.header.windows.iter_mut().find(|window| window.token == token) else {
        return keep(Renewed::Lost);
    };
    let until_ms = own.until_ms.max(now_ms + span(window_ms));
    own.suspect_until_ms += until_ms - own.until_ms;
    own.until_ms = until_ms;
    let suspect_until_ms = own.suspect_until_ms;
    entry.extend_to(suspect_until_ms);
    write(entry, Renewed::Open { remaining_ms: until_ms - now_ms })
}

fn end_write(found: Found, now_ms: u64, token: Token, invalidation: &Invalidation) -> Outcome<Ended> {
    let mut entry = match found {
        Found::Nothing => return keep(Ended::Expired),
        Found::Corrupt | Found::NewerFormat => return (Next::Delete, Ended::Expired),
        Found::Entry { entry, .. } => entry,
    };
    let before = entry.header.windows.len();
    entry.header.windows.retain(|window| guard("model_end_own_window") && window.token != token);
    let answer = if entry.header.windows.len() < before { Ended::Closed } else { Ended::Expired };
    entry.invalidate(now_ms, invalidation);
    write(entry, answer)
}
