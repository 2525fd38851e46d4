//! Messages: the delay until a relay in another process sends them, the cost of its notification, and commits compared with a published
//! outbox.

use super::sink::Counting;
use super::{ACCOUNTS, BENCH, Bank, PEER, Stand};
use crate::load::rate;
use crate::peer::{Peers, Question};
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::sql::sink::Sinks;
use evenkeel::sql::{Message, WakeUp};
use std::time::Duration;
use testkit::servers::Redis;
use tokio::sync::oneshot;

/// Keys of the messages.
const KEYS: u64 = 1_000;
/// Between two commits where the way of one message is measured.
const PACE: Duration = Duration::from_millis(20);
const TASKS: usize = 8;

/// From the commit to the sink, with the relay in another process.
pub(super) async fn late<DB: Bank>(plan: &Plan, stand: &Stand<DB>, redis: &Redis, database: &str) -> Result<Vec<Row>> {
    let ways: &[(WakeUp, &str)] = if database == "PostgreSQL" {
        &[
            (WakeUp::AfterCommit, "notified after the commit"),
            (WakeUp::WithCommit, "notified by the commit"),
            (WakeUp::Never, "polling"),
        ]
    } else {
        &[(WakeUp::Never, "polling")]
    };
    let messages = if plan.quick { 50 } else { 500 };
    let mut rows = Vec::new();
    for (wake_up, how) in ways {
        let sink = Counting::new()?;
        // Another keel knows nothing of the commits of this one, as another process.
        let elsewhere = Keel::connect(&redis.url()).await?;
        let relay = elsewhere.relay(&stand.pool).sinks(Sinks::to(sink.clone()));
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move { relay.run(async { _ = stopped.await }).await });
        stand.keel.wake_relays(*wake_up);
        for number in 0..messages {
            publish(stand.clone(), sink.clone(), number % KEYS).await?;
            tokio::time::sleep(PACE).await;
        }
        sink.until(messages).await?;
        let _ = stop.send(());
        running.await?;
        for (name, quantile) in [("p50", 0.5), ("p99", 0.99)] {
            let title = format!(
                "from the commit to the sink, relay in another process, {how}, {name}, {database}, 50 commits a second"
            );
            rows.push(Row::alone(BENCH, title, "ms", sink.quantile(quantile), None));
        }
    }
    stand.keel.wake_relays(WakeUp::default());
    Ok(rows)
}

/// The cost of notifications for commits: with compared to without, eight at once.
pub(super) async fn notified<DB: Bank>(plan: &Plan, stand: &Stand<DB>) -> Result<Vec<Row>> {
    let sink = Counting::new()?;
    let mut rows = Vec::new();
    for (wake_up, how) in [(WakeUp::AfterCommit, "after the commit"), (WakeUp::WithCommit, "by the commit")] {
        let side = |wake_up: WakeUp| {
            let (stand, sink) = (stand.clone(), sink.clone());
            move |span| {
                stand.keel.wake_relays(wake_up);
                let (stand, sink) = (stand.clone(), sink.clone());
                rate(TASKS, span, move |random| publish(stand.clone(), sink.clone(), random % KEYS))
            }
        };
        let found = compare(plan, side(wake_up), side(WakeUp::Never)).await?;
        let title = format!("commits with one ordered message, notified {how}, PostgreSQL, {TASKS} at once");
        rows.push(Row::compared(BENCH, title, "commits/s", "the same, not notified", found));
    }
    stand.keel.wake_relays(WakeUp::default());
    forget(stand).await?;
    Ok(rows)
}

/// Commits with one unordered message, compared with a published outbox.
pub(super) async fn against_peer<DB: Bank>(plan: &Plan, stand: &Stand<DB>, peer: &mut Peers) -> Result<Vec<Row>> {
    let sink = Counting::new()?;
    stand.keel.publish_to(&Sinks::to(sink.clone()));
    let mut rows = Vec::new();
    for tasks in super::TASKS {
        let ours = |span| {
            let (stand, sink) = (stand.clone(), sink.clone());
            rate(tasks, span, move |random| unordered(stand.clone(), sink.clone(), random % ACCOUNTS))
        };
        let question = Question { peer: "commits", keys: ACCOUNTS, tasks };
        let theirs = |span| std::future::ready(peer.rate(question, span));
        let found = compare(plan, ours, theirs).await?;
        let title = format!("commits with one message, PostgreSQL, {tasks} at once");
        rows.push(Row::compared(BENCH, title, "commits/s", PEER, found));
    }
    stand.keel.publish_to(&Sinks::none());
    forget(stand).await?;
    Ok(rows)
}

async fn publish<DB: Bank>(stand: Stand<DB>, sink: Counting, key: u64) -> Result<()> {
    let mut work = stand.keel.begin(&stand.pool).await?;
    DB::add(work.tx(), i64::try_from(key)?).await?;
    work.publish(Message::new("sold", sink.timestamp()).key(key.to_string()))?;
    work.commit().await?;
    Ok(())
}

async fn unordered<DB: Bank>(stand: Stand<DB>, sink: Counting, account: u64) -> Result<()> {
    let mut work = stand.keel.begin(&stand.pool).await?;
    DB::add(work.tx(), i64::try_from(account)?).await?;
    work.publish(Message::new("sold", sink.timestamp()))?;
    work.commit().await?;
    Ok(())
}

/// The next measurement begins with empty tables.
pub(super) async fn forget<DB: Bank>(stand: &Stand<DB>) -> Result<()> {
    let mut connection = stand.pool.acquire().await?;
    for table in ["evenkeel_outbox", "evenkeel_outbox_ordered", "evenkeel_outbox_keys"] {
        DB::send(&mut connection, format!("TRUNCATE TABLE {table}")).await?;
    }
    Ok(())
}
