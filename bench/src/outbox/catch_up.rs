//! Throughput of a relay that catches up after an outage.

use super::messages::forget;
use super::sink::Counting;
use super::{ACCOUNTS, BENCH, Bank, PEER, Stand};
use crate::peer::{Peers, Question};
use crate::rounds::{Plan, compared};
use crate::row::Row;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::sql::Message;
use evenkeel::sql::sink::{Sinks, StreamSink};
use std::time::{Duration, Instant};
use testkit::servers::Redis;
use tokio::sync::oneshot;

/// Keys of the ordered messages.
const KEYS: u64 = 1_000;
/// Between two looks whether it is done.
const LOOK: Duration = Duration::from_millis(5);

fn rows(plan: &Plan) -> u64 {
    if plan.quick { 20_000 } else { 1_000_000 }
}

/// The number of rows for a comparison with a peer, which is repeated several times.
fn rows_against_peer(plan: &Plan) -> u64 {
    rows(plan) / 10
}

/// Works with one invalidation each, over Redis; and ordered messages for its streams.
pub(super) async fn run<DB: Bank>(plan: &Plan, stand: &Stand<DB>, redis: &Redis, database: &str) -> Result<Vec<Row>> {
    let count = rows(plan);
    forget(stand).await?;
    works(stand, redis, count, Kind::Invalidation).await?;
    let carried = drained(stand, redis, Sinks::none()).await?;
    let title = format!("relay after an outage, {count} units of work with one invalidation, {database}");
    let works = Row::alone(BENCH, title, "rows/s", count as f64 / carried.as_secs_f64(), None);
    forget(stand).await?;
    ordered(stand, count).await?;
    let keel = Keel::connect(&redis.url()).await?;
    let sent = drained(stand, redis, Sinks::to(StreamSink::new(&keel))).await?;
    let title = format!("relay after an outage, {count} messages of {KEYS} keys to Redis streams, {database}");
    let messages = Row::alone(BENCH, title, "rows/s", count as f64 / sent.as_secs_f64(), None);
    forget(stand).await?;
    redis.command::<()>(&["FLUSHALL"]).await?;
    Ok(vec![works, messages])
}

/// Units of work with one message each, for a sink that only counts, compared with a published outbox.
pub(super) async fn against_peer<DB: Bank>(
    plan: &Plan,
    stand: &Stand<DB>,
    redis: &Redis,
    peer: &mut Peers,
) -> Result<Vec<Row>> {
    let count = rows_against_peer(plan);
    let mut found = Vec::new();
    for _ in 0..plan.shortened().rounds.min(3) {
        forget(stand).await?;
        works(stand, redis, count, Kind::Message).await?;
        let sink = Counting::new()?;
        let took = drained(stand, redis, Sinks::to(sink.clone())).await?;
        anyhow::ensure!(sink.taken() >= count, "the sink was given {} of {count} messages", sink.taken());
        let theirs = peer.rate(Question { peer: "catch_up", keys: count, tasks: 1 }, Duration::ZERO)?;
        found.push((count as f64 / took.as_secs_f64(), theirs));
    }
    forget(stand).await?;
    let title = format!("relay after an outage, {count} units of work with one message, PostgreSQL");
    Ok(vec![Row::compared(BENCH, title, "rows/s", PEER, compared(&found))])
}

#[derive(Clone, Copy)]
enum Kind {
    Invalidation,
    Message,
}

/// So many waiting units of work: one is committed, and copied.
async fn works<DB: Bank>(stand: &Stand<DB>, redis: &Redis, count: u64, kind: Kind) -> Result<()> {
    // It has no sink, so a message is left.
    let keel = Keel::connect(&redis.url()).await?;
    let mut work = keel.begin(&stand.pool).await?;
    match kind {
        Kind::Invalidation => work.invalidate(&stand.accounts, &(count % ACCOUNTS))?,
        Kind::Message => work.publish(Message::new("sold", "x".repeat(100)))?,
    }
    work.commit().await?;
    let mut connection = stand.pool.acquire().await?;
    if matches!(kind, Kind::Invalidation) {
        // It was carried out at once; that it was not is written by hand.
        while DB::waiting(&mut connection).await? > 0 {
            tokio::time::sleep(LOOK).await;
        }
    }
    DB::send(&mut connection, "UPDATE evenkeel_outbox SET state = 1, due_at = 1".to_owned()).await?;
    DB::copy_work(&mut connection, count - 1).await?;
    Ok(())
}

/// So many messages that wait, the same number of each key.
async fn ordered<DB: Bank>(stand: &Stand<DB>, count: u64) -> Result<()> {
    let mut connection = stand.pool.acquire().await?;
    let each = count / KEYS;
    for first in (0..KEYS).step_by(100) {
        let mut keys = Vec::new();
        for key in first..first + 100 {
            keys.push(format!("('sold', '{key}', {each}, 0, 1)"));
            for part in (1..=each).collect::<Vec<u64>>().chunks(1_000) {
                let rows: Vec<String> = part
                    .iter()
                    .map(|sequence| {
                        format!("('sold', '{key}', {sequence}, '0123456789abcdef', 1, '{}', '', 1)", "x".repeat(100))
                    })
                    .collect();
                let insert = "INSERT INTO evenkeel_outbox_ordered \
                              (topic, message_key, sequence, work, state, payload, headers, created_at) VALUES ";
                DB::send(&mut connection, format!("{insert}{}", rows.join(", "))).await?;
            }
        }
        let insert =
            "INSERT INTO evenkeel_outbox_keys (topic, message_key, last_sequence, sent_sequence, due_at) VALUES ";
        DB::send(&mut connection, format!("{insert}{}", keys.join(", "))).await?;
    }
    Ok(())
}

/// How long a relay takes until nothing waits.
async fn drained<DB: Bank>(stand: &Stand<DB>, redis: &Redis, sinks: Sinks) -> Result<Duration> {
    let keel = Keel::connect(&redis.url()).await?;
    let relay = keel.relay(&stand.pool).sinks(sinks);
    let (stop, stopped) = oneshot::channel::<()>();
    let began = Instant::now();
    let running = tokio::spawn(async move { relay.run(async { _ = stopped.await }).await });
    let mut connection = stand.pool.acquire().await?;
    while DB::waiting(&mut connection).await? > 0 {
        tokio::time::sleep(LOOK).await;
    }
    let took = began.elapsed();
    let _ = stop.send(());
    running.await?;
    Ok(took)
}
