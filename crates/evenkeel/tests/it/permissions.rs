//! What docs/operations.md tells an operator to allow the Redis user is enough.

use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::link::Heard;
use evenkeel::queue::{Delivery, Durability, Queue, QueueError};
use evenkeel::sql::sink::stream::RedisStreams;
use evenkeel::sql::sink::stream::steps::{Limit, Rule, StreamSteps};
use std::path::Path;
use std::time::Duration;
use testkit::conformance::cache::{OnRedis, fences, leases, lives, schemas, versions, windows};
use testkit::conformance::queue::{self, World};
use testkit::conformance::stream_sink::{ordered, unordered};
use testkit::servers::{Redis, RedisOptions};

/// What stands behind `ACL SETUSER app on >password` on that page.
fn documented() -> Result<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
    let page = std::fs::read_to_string(page)?;
    let line = page.lines().find_map(|line| line.strip_prefix("ACL SETUSER app on >password "));
    line.map(str::to_owned).context("docs/operations.md names no rights")
}

/// A server whose user has those rights and no others.
async fn server() -> Result<Redis> {
    Redis::start(RedisOptions::new().user("app", "password", &documented()?)).await
}

/// Redis notes every command that a user was refused, also those whose answer nobody looks at.
async fn nothing_was_refused(redis: &Redis) -> Result<()> {
    let refused: Vec<redis::Value> = redis.command(&["ACL", "LOG"]).await?;
    assert!(refused.is_empty(), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn the_documented_rights_suffice_for_a_cache() -> Result<()> {
    let redis = server().await?;
    let keel = Keel::connect(&redis.url()).await?;
    let rows = keel.cache::<u64, String>("row").ttl(Duration::from_secs(600)).build()?;
    let load = async |key: u64| Ok::<_, std::io::Error>(Some(format!("row {key}")));
    for _ in 0..2 {
        assert_eq!(rows.get(&1, |key| load(*key)).await?.as_deref(), Some(&"row 1".to_owned()));
    }
    rows.invalidate(&1).await?;
    rows.purge(&1).await?;
    let many = rows.get_many(&[1, 2], |keys| async {
        Ok::<_, std::io::Error>(keys.into_iter().map(|key| (key, format!("row {key}"))).collect::<Vec<_>>())
    });
    assert_eq!(many.await?.len(), 2);
    // Every script, with what each does in its rarer branches.
    let fresh = async || {
        redis.command::<()>(&["FLUSHALL"]).await?;
        OnRedis::on(&redis.url(), "evenkeel").await
    };
    fences::a_fill_finds_no_permission_where_the_entry_is_gone(&fresh().await?).await;
    leases::nobody_abandons_the_lease_of_another(&fresh().await?).await;
    lives::a_purged_value_is_gone(&fresh().await?).await;
    schemas::bytes_that_are_no_entry_are_overwritten(&fresh().await?).await;
    versions::a_stored_version_raises_the_floor(&fresh().await?).await;
    windows::a_renewed_window_stays_open(&fresh().await?).await;
    windows::a_window_whose_entry_is_gone_had_lapsed(&fresh().await?).await;
    nothing_was_refused(&redis).await
}

/// One story for each script of the queue.
#[tokio::test]
async fn the_documented_rights_suffice_for_a_queue() -> Result<()> {
    let redis = server().await?;
    macro_rules! stories {
        ($($story:ident),+ $(,)?) => {$(
            queue::$story(&World::on(&redis.url(), "evenkeel").await?).await?;
            redis.command::<()>(&["FLUSHALL"]).await?;
        )+};
    }
    stories!(
        a_callers_id_makes_enqueueing_idempotent,
        a_unique_key_deduplicates_within_its_window,
        a_full_topic_says_so_per_job,
        a_failed_job_is_retried_and_then_dead,
        the_newest_errors_are_kept,
        a_beat_keeps_the_lease,
        a_job_that_crashes_too_often_is_dead,
        silent_workers_are_forgotten,
        revoke_says_what_happened,
        a_waiting_job_is_moved_and_edited,
        the_newest_version_wins,
        a_redrive_takes_each_dead_letter_once,
        dead_letters_are_deleted_one_by_one,
        a_purge_is_bounded,
        forgetting_lets_stamps_run_out,
        a_page_goes_on_while_jobs_come_and_go,
        figures_add_up,
        resuming_leaves_markers,
    );
    nothing_was_refused(&redis).await
}

/// Two processes that want one lock, and an operator.
#[tokio::test]
async fn the_documented_rights_suffice_for_locks() -> Result<()> {
    let redis = server().await?;
    let (one, two) = (Keel::connect(&redis.url()).await?, Keel::connect(&redis.url()).await?);
    let ttl = Duration::from_secs(30);
    let guard = one.lock("stock/42").ttl(ttl).acquire().await?;
    let waiting = tokio::spawn(two.lock("stock/42").ttl(ttl).acquire());
    while one.lock("stock/42").inspect().await?.is_none_or(|holder| holder.waiting == 0) {}
    guard.release().await?;
    let guard = waiting.await??;
    assert_eq!(one.locks_held().await?.len(), 1);
    assert!(one.lock("stock/42").break_lock(Some(guard.fence())).await?.is_some());
    drop(guard);
    // The same for those who share, and for stripes.
    let desks = one.semaphore("desks", 2);
    let held = desks.take(2).ttl(ttl).acquire().await?;
    let waiting = tokio::spawn(two.semaphore("desks", 2).take(1).ttl(ttl).acquire());
    while desks.inspect().await?.is_none_or(|state| state.waiting == 0) {}
    held.release().await?;
    let held = waiting.await??;
    assert_eq!((desks.break_holds(None).await?.len(), one.semaphores_known().await?.len()), (1, 1));
    desks.resize().await?;
    drop((held, one.rw_lock("shelf").read().acquire().await?));
    let stock = one.striped_lock("stock", 16)?;
    drop(stock.acquire(b"42").await?);
    stock.restripe().await?;
    two.shutdown(Duration::from_secs(10)).await;
    nothing_was_refused(&redis).await
}

/// The page left out what the stream sink sends: every message was refused, and its key parked.
#[tokio::test]
async fn the_documented_rights_suffice_for_a_stream_sink() -> Result<()> {
    let redis = server().await?;
    let keel = Keel::connect(&redis.url()).await?;
    let streams = RedisStreams::new(keel.link().context("a keel on Redis has a link")?.clone());
    for limit in [Limit::Unlimited, Limit::Refuse(10), Limit::TrimOldest(10)] {
        let rule = Rule { limit, remember_ms: 60_000 };
        for message in [unordered("1"), ordered("cup", 1)] {
            streams.append(rule, &[message]).await?;
        }
    }
    nothing_was_refused(&redis).await
}

/// All that opening a queue, sending, consuming and scheduling ask for.
#[tokio::test]
async fn the_documented_rights_suffice_for_consumers() -> Result<()> {
    let redis = server().await?;
    let keel = Keel::connect(&redis.url()).await?;
    let mail: Queue<String> = keel.queue("mail").shards(2).jobs_max(100).build().await?;
    let schedule = mail.periodic("yearly", "@yearly".parse()?, |time| time.to_string());
    let (done, mut is_done) = tokio::sync::mpsc::unbounded_channel();
    let consumer = mail.consume(move |job: Delivery<String>| {
        let done = done.clone();
        async move { done.send(job.body) }
    });
    let all = async {
        for number in 0..20 {
            let order = mail.job(&"a".to_owned()).id(number.to_string()).header("number", number.to_string());
            order.enqueue().await.unwrap();
            is_done.recv().await.unwrap();
        }
    };
    let (consumed, scheduled) = tokio::join!(consumer.run(all), schedule.run(std::future::ready(())));
    consumed?;
    scheduled?;
    let replicas = Durability::Replicas { count: 1, timeout: Duration::from_millis(1) };
    let sent = mail.with_durability(replicas).await?.now(&"b".to_owned()).await;
    assert!(matches!(sent, Err(QueueError::NotDurable { .. })), "{sent:?}");
    nothing_was_refused(&redis).await
}

/// A worker waits for its topic's marker on a connection of its own; waiters hear of what they wait for on a channel.
#[tokio::test]
async fn the_documented_rights_suffice_to_wait_and_to_subscribe() -> Result<()> {
    let redis = server().await?;
    let keel = Keel::connect(&redis.url()).await?;
    let link = keel.link().context("a keel on Redis has a link")?;
    redis.command::<()>(&["ZADD", "{evenkeel:q:mail:0}:wake", "0", "marker"]).await?;
    let mut blocking = link.blocking().await?;
    let wait = redis::cmd("BZPOPMIN").arg("{evenkeel:q:mail:0}:wake").arg(1).to_owned();
    assert_ne!(blocking.command(&wait, Duration::from_secs(1)).await?, redis::Value::Nil);
    let mut heard = link.subscribe(b"evenkeel:told").await?;
    redis.command::<()>(&["SPUBLISH", "evenkeel:told", "words"]).await?;
    assert_eq!(heard.next().await, Some(Heard::Message("words".into())));
    link.command(b"", redis::cmd("CLIENT").arg("TRACKING").arg("ON").arg("OPTIN")).await?;
    nothing_was_refused(&redis).await
}
