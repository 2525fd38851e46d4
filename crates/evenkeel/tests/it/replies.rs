//! Replies have a bound in bytes, not only in items: Redis closes a connection on which more than two of them wait, and every call that returns
//! what users have stored returns all of it nevertheless.

use anyhow::{Context, Result, ensure};
use evenkeel::Keel;
use evenkeel::queue::topic::{Filter, JobState};
use evenkeel::queue::{Delivery, Handled, JobId, Queue};
use evenkeel::stream::admin::{LetterFilter, LetterId};
use evenkeel::stream::{Entry, EntryId, Group, OnFailure, Stream};
use std::convert::Infallible;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};
use tokio::sync::mpsc;

/// The bytes of replies that may wait on a connection: two of 4 MiB and the eight values of the part that did not fit any more.
const WAITING_MAX: usize = 24 << 20;
/// With its quotation marks a little less than the largest value of a stream.
const LARGE: usize = 1_000_000;
/// More than twice as many as may wait.
const ITEMS: usize = 60;
const HOUR: Duration = Duration::from_secs(3_600);

async fn strict() -> Result<(Redis, Keel)> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let keel = Keel::connect(&format!("{}?response_timeout_ms=15000", redis.url())).await?;
    let limit = format!("normal {WAITING_MAX} 0 0");
    redis.command::<()>(&["CONFIG", "SET", "client-output-buffer-limit", &limit]).await?;
    Ok((redis, keel))
}

/// A reply above the limit closes its connection.
fn expect_first_epoch(keel: &Keel, began: u64, what: &str) -> Result<()> {
    let epoch = keel.link().context("on Redis")?.epoch().with_context(|| format!("{what}: the link broke"))?;
    ensure!(epoch.number() == began, "{what}: Redis has closed the connection");
    Ok(())
}

fn epoch(keel: &Keel) -> Result<u64> {
    Ok(keel.link().context("on Redis")?.epoch().context("the link is up")?.number())
}

fn large(number: usize) -> String {
    format!("{number:04}{}", "x".repeat(LARGE - 4))
}

/// Consumes until so many were handled, each with this result.
async fn handle_jobs(mail: &Queue<String>, count: usize, result: fn() -> Handled) -> Result<()> {
    let (seen, mut handled) = mpsc::unbounded_channel();
    let consumer = mail.consume(move |_: Delivery<String>| {
        let _ = seen.send(());
        async move { Ok::<_, Infallible>(result()) }
    });
    let all = async move {
        for _ in 0..count {
            let _ = handled.recv().await;
        }
    };
    Ok(consumer.concurrency(ITEMS).run(all).await?)
}

// shows: hazard SF2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_with_jobs_are_bounded() -> Result<()> {
    let (_redis, keel) = strict().await?;
    let began = epoch(&keel)?;
    let mail: Queue<String> = keel.queue("mail").shards(1).retries(0).open().await?;
    let mut ids: Vec<JobId> = Vec::new();
    for number in 0..ITEMS {
        ids.push(mail.delay(HOUR, &large(number)).await?);
    }
    let topic = mail.topic();
    ensure!(topic.peek(JobState::Waiting, None, 500).await?.jobs.len() == ITEMS);
    expect_first_epoch(&keel, began, "a page of jobs")?;
    ensure!(topic.previews(JobState::Waiting, None, 500).await?.jobs.len() == ITEMS);
    expect_first_epoch(&keel, began, "a page of previews")?;
    topic.run_now(&ids).await?;
    handle_jobs(&mail, ITEMS, || Handled::Dead("no use".into())).await?;
    expect_first_epoch(&keel, began, "claims")?;
    ensure!(topic.peek(JobState::Dead, None, 500).await?.jobs.len() == ITEMS);
    expect_first_epoch(&keel, began, "a page of dead letters")?;
    let filter = Filter { body_contains: Some("xxx".to_owned()), ..Filter::default() };
    let redrive = topic.redrive("all").filter(filter);
    ensure!(redrive.dry_run().await?.matching == ITEMS as u64);
    expect_first_epoch(&keel, began, "a dry run of a redrive")?;
    ensure!(redrive.run().await?.taken == ITEMS as u64);
    expect_first_epoch(&keel, began, "a redrive")?;
    topic.grow(2).await?;
    expect_first_epoch(&keel, began, "a shard migration")?;
    handle_jobs(&mail, ITEMS, || Handled::Done).await?;
    expect_first_epoch(&keel, began, "claims of redriven jobs")
}

/// Handles so many entries of a group, each with this result.
async fn handle_entries(group: Group<String>, count: usize, is_dead: bool) -> Result<()> {
    let (seen, mut handled) = mpsc::unbounded_channel();
    let consumer = group.retries(0).handle(move |_: Entry<String>| {
        let _ = seen.send(());
        async move { if is_dead { Err("no such account") } else { Ok(()) } }
    });
    let all = async move {
        for _ in 0..count {
            let _ = handled.recv().await;
        }
    };
    Ok(consumer.concurrency(ITEMS).run(all).await?)
}

// shows: hazard SF2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_with_entries_are_bounded() -> Result<()> {
    let (_redis, keel) = strict().await?;
    let began = epoch(&keel)?;
    let orders: Stream<String> = keel.stream("orders").partitions(1).open().await?;
    for number in 0..ITEMS {
        orders.append(number.to_string(), &large(number)).await?;
    }
    let admin = orders.admin();
    ensure!(admin.peek(0, EntryId::MIN, 500).await?.len() == ITEMS);
    expect_first_epoch(&keel, began, "a page of the log")?;
    handle_entries(orders.group("ordered").per_key(OnFailure::BlockKey), ITEMS, false).await?;
    expect_first_epoch(&keel, began, "reads of an ordered group")?;
    handle_entries(orders.group("billing").unordered(), ITEMS, true).await?;
    expect_first_epoch(&keel, began, "reads of an unordered group")?;
    let dead = admin.dead("billing")?;
    ensure!(dead.list(0, EntryId::MIN, 500).await?.len() == ITEMS);
    expect_first_epoch(&keel, began, "a list of dead letters")?;
    let filter = LetterFilter { value_contains: Some("xxx".to_owned()), ..LetterFilter::default() };
    let page = dead.page(&filter, None, 500).await?;
    let letters: Vec<LetterId> = page.letters.iter().map(|(id, _)| *id).collect();
    ensure!(letters.len() == ITEMS);
    expect_first_epoch(&keel, began, "a page of dead letters")?;
    let (replayed, removed) = letters.split_at(ITEMS / 2);
    dead.replay_all(replayed).await?;
    expect_first_epoch(&keel, began, "a replay")?;
    ensure!(dead.remove_all(removed).await?.iter().all(|existed| *existed));
    expect_first_epoch(&keel, began, "removals")?;
    handle_entries(orders.group("billing").unordered(), ITEMS / 2, false).await?;
    expect_first_epoch(&keel, began, "reads of replayed entries")
}
