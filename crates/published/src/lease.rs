//! Facebook's leases: a miss returns one 64-bit token, a delete voids it, and only its holder may store.
//!
//! The token is stored under the key of the value itself, as the generation of an entry without a value, so an expiry, an
//! eviction or a delete removes the permission as well. At most one token is granted per key and lease time; other readers
//! wait.

use super::store::{Granted, PlainStore, entry_of};
use bytes::Bytes;
use evenkeel::cache::CacheError;
use evenkeel_link::Token;
use evenkeel_protocol::cache::header::{Entry, Header, LeaseBlock, Verdict};
use evenkeel_protocol::cache::steps::{Fill, Filled, Generation, Grant, Lease, Leased};

pub(super) async fn lease(store: &PlainStore, key: &[u8], lease: &Lease) -> Result<Leased, CacheError> {
    let at_ms = store.now_ms();
    let generation = token_of(lease.token);
    let placeholder = Entry {
        header: Header {
            schema: lease.schema,
            generation,
            granted: 1,
            ends_at_ms: at_ms.saturating_add(lease.lease_ms),
            lease: Some(LeaseBlock { token: Some(lease.token), at_ms, until_ms: at_ms.saturating_add(lease.lease_ms) }),
            ..Header::default()
        },
        payload: Bytes::new(),
    };
    let grant = Grant { generation, ordinal: 1, at_ms, primary_required: false };
    match store.grant(key, placeholder, &generation, lease.lease_ms).await? {
        Granted::Yes => Ok(Leased::Granted(grant)),
        Granted::Held { remaining_ms } => Ok(Leased::Wait { retry_after_ms: remaining_ms.max(1) }),
        // The value ends together with its key; a reader that finds it just expired asks again.
        Granted::Value(bytes) => Ok(match Header::parse(&bytes) {
            Ok((header, _)) if header.verdict(at_ms) != Verdict::Miss => Leased::AlreadyStored(bytes),
            _ => Leased::Wait { retry_after_ms: 1 },
        }),
    }
}

pub(super) async fn fill(store: &PlainStore, key: &[u8], fill: &Fill, schema: u32) -> Result<Filled, CacheError> {
    let entry = entry_of(fill, schema, 0);
    let stored = store.replace_token(key, &fill.grant.generation, Some(entry), fill.hard_ms).await?;
    Ok(if stored { Filled::Stored } else { Filled::Gone })
}

pub(super) async fn abandon(store: &PlainStore, key: &[u8], token: Token) -> Result<(), CacheError> {
    // False means that the token is already void, which has the same effect.
    store.replace_token(key, &token_of(token), None, 0).await.map(|_stood| ())
}

/// The published token has 64 bits.
fn token_of(token: Token) -> Generation {
    let [a, b, c, d, e, f, g, h, ..] = *token.as_bytes();
    Generation([a, b, c, d, e, f, g, h])
}
