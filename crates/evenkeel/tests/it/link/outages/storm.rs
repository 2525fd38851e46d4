//! Everything that can happen to a server, while callers do not stop: the link recovers by itself each time, no caller
//! hangs, and no reply reaches the wrong caller.

use crate::link::harness::{cmd, cut, epoch_after, quick_link, server};
use anyhow::{Context, Result};
use evenkeel::link::{Link, LinkError, Script};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use testkit::eventually;
use testkit::servers::Redis;
use tokio::time::timeout;

static ECHO: Script = Script::new("echo-1", "return {KEYS[1], ARGV[1]}");

/// Callers at once.
const CALLERS: u64 = 32;
/// Connections that are killed while many threads call.
const KILLS: u64 = 40;
/// Many times the response timeout: a call that takes longer hangs.
const CALL_MAX: Duration = Duration::from_secs(20);

/// What the callers saw.
#[derive(Default)]
struct Seen {
    stop: AtomicBool,
    answered: AtomicU64,
    nothing_sent: AtomicU64,
    in_doubt: AtomicU64,
    refused: AtomicU64,
}

impl Seen {
    fn note(&self, error: &LinkError) {
        let counter = match error {
            LinkError::Refused { .. } => &self.refused,
            error if error.outcome_unknown() => &self.in_doubt,
            _ => &self.nothing_sent,
        };
        counter.fetch_add(1, Relaxed);
    }
}

async fn call_until_stopped(link: Link, seen: Arc<Seen>, caller: u64) -> Result<()> {
    let key = format!("caller:{caller}");
    for round in 0.. {
        if seen.stop.load(Relaxed) {
            break;
        }
        let text = format!("{caller}/{round}");
        let call = async {
            let echoed: (String, String) = link.run(&ECHO, &[key.as_bytes()], &[text.as_bytes()]).await?;
            link.command(key.as_bytes(), &cmd(&["SET", &key, &text])).await?;
            Ok((echoed, link.get(key.as_bytes()).await?))
        };
        match timeout(CALL_MAX, call).await.context("a call hangs")? {
            Ok((echoed, value)) => {
                anyhow::ensure!(
                    echoed == (key.clone(), text.clone()),
                    "an answer reached the wrong caller: {echoed:?}"
                );
                // Absent after a restart or a flush in between; never another caller's.
                let own = value.is_none_or(|value| value == text);
                anyhow::ensure!(own, "{key} holds another caller's value");
                seen.answered.fetch_add(1, Relaxed);
            }
            Err(error) => seen.note(&error),
        }
        // On one thread, callers that fail at once would leave no room for the link to recover.
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// All callers are answered again.
async fn answered_again(seen: &Seen) -> Result<()> {
    let before = seen.answered.load(Relaxed);
    eventually("callers are answered again", async || {
        (seen.answered.load(Relaxed) >= before + 10 * CALLERS).then_some(())
    })
    .await
}

async fn trouble(redis: &mut Redis, other: &Redis, link: &Link, seen: &Seen) -> Result<()> {
    let epoch = || link.epoch().map_or(0, |epoch| epoch.number());
    answered_again(seen).await?;
    redis.command::<()>(&["FLUSHALL"]).await?;
    redis.command::<()>(&["SCRIPT", "FLUSH"]).await?;
    answered_again(seen).await.context("after a flush")?;
    let before = epoch();
    redis.kill()?;
    redis.restart().await?;
    epoch_after(link, before).await?;
    answered_again(seen).await.context("after a restart")?;
    let before = epoch();
    redis.pause()?;
    crate::link::harness::down(link, "no answer within").await?;
    redis.resume()?;
    epoch_after(link, before).await?;
    answered_again(seen).await.context("after a pause")?;
    let before = epoch();
    redis.command::<()>(&["REPLICAOF", "127.0.0.1", &other.port().to_string()]).await?;
    crate::link::harness::down(link, "it is a replica").await?;
    redis.command::<()>(&["REPLICAOF", "NO", "ONE"]).await?;
    epoch_after(link, before).await?;
    answered_again(seen).await.context("after a demotion")?;
    let before = epoch();
    cut(redis).await?;
    epoch_after(link, before).await?;
    answered_again(seen).await.context("after a cut")
}

// shows: L1
#[tokio::test]
async fn link_recovers_under_load() -> Result<()> {
    let (mut redis, other) = (server().await?, server().await?);
    let link = quick_link(&redis).await?;
    let seen = Arc::new(Seen::default());
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..CALLERS {
        callers.spawn(call_until_stopped(link.clone(), Arc::clone(&seen), caller));
    }
    let troubled = trouble(&mut redis, &other, &link, &seen).await;
    seen.stop.store(true, Relaxed);
    while let Some(caller) = callers.join_next().await {
        caller??;
    }
    troubled?;
    // The faults were effective: each kind of failure was seen.
    assert!(seen.nothing_sent.load(Relaxed) > 0 && seen.in_doubt.load(Relaxed) > 0);
    Ok(())
}

/// With callers on many threads, one is now and then preempted in the middle of sending when its connection closes. The commands behind
/// it had no end: 63 of 64 callers waited for as long as the process ran.
// shows: L11, hazard BL1
#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn every_call_ends_when_connections_are_killed() -> Result<()> {
    let redis = server().await?;
    let link = quick_link(&redis).await?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..2 * CALLERS {
        let link = if caller % 2 == 0 { link.clone() } else { link.with_response_timeout(Duration::from_millis(100)) };
        let stop = Arc::clone(&stop);
        callers.spawn(async move {
            while !stop.load(Relaxed) {
                let _ = link.get(b"k").await;
                tokio::task::yield_now().await;
            }
        });
    }
    for number in 0..KILLS {
        epoch_after(&link, number).await?;
        cut(&redis).await?;
    }
    stop.store(true, Relaxed);
    let mut ended = 0;
    while let Ok(Some(caller)) = timeout(CALL_MAX, callers.join_next()).await {
        caller?;
        ended += 1;
    }
    assert_eq!(ended, 2 * CALLERS, "some calls have no end");
    Ok(())
}
