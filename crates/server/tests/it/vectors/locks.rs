//! Vectors of locks: the keys, the record of a held lock and its ledger after each call, and the replies.

use super::{check, hex, vector};
use crate::console::server::hold_time;
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::link::Link;
use evenkeel_link::Token;
use evenkeel_protocol::lock::RedisLock;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{Acquire, LockSteps, Release};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::park;

const NOW: u64 = 1_700_000_000_000;
const LEASE_MS: u64 = 60_000;
const COOLING_MS: u64 = 2_000;

/// What is under the prefix, in hexadecimal, with the prefix `ns`.
async fn stored(link: &Link) -> BTreeMap<String, String> {
    let all = format!("{}:*", link.prefix());
    let braced = format!("{{{all}");
    let mut stored = BTreeMap::new();
    for pattern in [all, braced] {
        let keys = link.command(b"", redis::cmd("KEYS").arg(pattern)).await.unwrap();
        for key in redis::from_redis_value::<Vec<String>>(keys).unwrap() {
            // The time of the test is no part of the protocol.
            if key.ends_with(":test:now_ms") {
                continue;
            }
            let value = link.command(key.as_bytes(), redis::cmd("GET").arg(&key)).await.unwrap();
            let value: Vec<u8> = redis::from_redis_value(value).unwrap();
            stored.insert(key.replacen(link.prefix(), "ns", 1), hex(value));
        }
    }
    stored
}

#[tokio::test]
async fn golden_vectors_of_locks_are_those_of_the_scripts() {
    let server = park::redis().await.unwrap();
    let keel = Keel::connect(&format!("{}?prefix={}", server.url, server.prefix)).await.unwrap();
    let link = keel.link().unwrap();
    let locks = RedisLock::new(link.clone());
    let mut vectors = Vec::new();
    for name in ["stock/42", "a}b{größe"] {
        vectors.extend(held(&locks, link, name).await);
    }
    check("locks.jsonl", &vectors);
}

/// A lock from its acquisition to its release.
async fn held(locks: &RedisLock, link: &Link, text: &str) -> Vec<Value> {
    let name = LockName::new(text).unwrap();
    let (owner, process) = (Token::from([1; 16]), Token::from([2; 16]));
    let call = Acquire {
        owner,
        process,
        lease_ms: LEASE_MS,
        cooling_ms: COOLING_MS,
        hold_ms_max: Some(3_600_000),
        fence_floor: 0,
        waits: false,
        metadata: Bytes::from_static(b"worker-1"),
    };
    hold_time(link, NOW).await;
    let granted = format!("{:?}", locks.acquire(&name, &call).await.unwrap());
    let parties =
        json!({ "prefix": "ns", "lock": text, "owner": hex(owner.as_bytes()), "process": hex(process.as_bytes()) });
    let given = |call: Value, now: u64| json!({ "with": parties, "call": call, "now": now });
    let acquired = vector(
        &format!("acquire {text:?}"),
        given(
            json!({ "acquire": { "lease_ms": LEASE_MS, "cooling_ms": COOLING_MS, "hold_ms_max": 3_600_000, "fence_floor": 0, "metadata": hex("worker-1") } }),
            NOW,
        ),
        json!({ "reply": granted, "stored": stored(link).await }),
    );
    let later = NOW + 10_000;
    hold_time(link, later).await;
    let reply = format!("{:?}", locks.renew(&name, owner, LEASE_MS).await.unwrap());
    let renewed = vector(
        &format!("renew {text:?}"),
        given(json!({ "renew": { "lease_ms": LEASE_MS } }), later),
        json!({ "reply": reply, "stored": stored(link).await }),
    );
    let reply = locks.release(&name, Release { owner, process, waits: false }).await.unwrap();
    let released = vector(
        &format!("release {text:?}"),
        given(json!({ "release": {} }), later),
        json!({ "reply": format!("{reply:?}"), "stored": stored(link).await }),
    );
    vec![acquired, renewed, released]
}
