//! The rights that docs/operations.md lists for the Redis user are sufficient.

use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::limit::{DecidedBy, Rate, Window};
use evenkeel::link::Notification;
use evenkeel::queue::{Delivery, Durability, Queue, QueueError};
use evenkeel::sql::sink::stream::Limit;
use evenkeel::stream::admin::SeekTo;
use evenkeel::stream::{Entry, EntryId, OnFailure, Stream};
use evenkeel::testing::TestClock;
use evenkeel::testing::streams::{RedisStreams, Rule, StreamSteps};
use evenkeel_protocol::stream::name::GroupName;
use evenkeel_protocol::stream::steps::Sweep;
use std::path::Path;
use std::time::Duration;
use testkit::conformance::cache::{OnRedis, fences, leases, lives, schemas, versions, windows};
use testkit::conformance::queue::{self, Rig};
use testkit::conformance::stream_sink::{ordered, unordered};
use testkit::servers::{Redis, RedisOptions};

/// The rights after `ACL SETUSER app on >password` on that page.
fn documented() -> Result<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
    let page = std::fs::read_to_string(page)?;
    let line = page.lines().find_map(|line| line.strip_prefix("ACL SETUSER app on >password "));
    line.map(str::to_owned).context("docs/operations.md names no rights")
}

/// A server whose user has exactly those rights.
async fn server() -> Result<Redis> {
    Redis::start(RedisOptions::new().user("app", "password", &documented()?)).await
}

/// Redis logs every command that a user was denied, also those whose reply is not read.
async fn nothing_was_refused(redis: &Redis) -> Result<()> {
    let refused: Vec<redis::Value> = redis.command(&["ACL", "LOG"]).await?;
    assert!(refused.is_empty(), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn documented_rights_suffice_for_a_cache() -> Result<()> {
    let redis = server().await?;
    let keel = Keel::connect(&redis.url()).await?;
    let rows = keel.cache::<u64, String>("row").ttl(Duration::from_secs(600)).open().await?;
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
    fences::fill_is_rejected_after_entry_was_evicted(&fresh().await?).await;
    leases::abandon_leaves_lease_of_another_owner(&fresh().await?).await;
    lives::purged_value_is_never_served(&fresh().await?).await;
    schemas::malformed_entry_is_overwritten(&fresh().await?).await;
    versions::stored_version_raises_the_floor(&fresh().await?).await;
    windows::renewed_window_stays_open(&fresh().await?).await;
    windows::end_of_evicted_window_reports_expiry(&fresh().await?).await;
    nothing_was_refused(&redis).await
}

/// One story for each script of the queue.
#[tokio::test]
async fn documented_rights_suffice_for_a_queue() -> Result<()> {
    let redis = server().await?;
    macro_rules! stories {
        ($($story:ident),+ $(,)?) => {$(
            queue::$story(&Rig::on(&redis.url(), "evenkeel").await?).await?;
            redis.command::<()>(&["FLUSHALL"]).await?;
        )+};
    }
    stories!(
        enqueue_with_caller_id_is_idempotent,
        unique_key_deduplicates_within_its_window,
        full_topic_rejects_job_by_job,
        failed_job_is_retried_and_then_dead,
        newest_errors_are_kept,
        heartbeat_extends_the_lease,
        job_exceeding_its_crash_limit_is_dead,
        silent_workers_are_forgotten,
        revoke_reports_what_happened,
        waiting_job_is_rescheduled_and_edited,
        newest_version_wins,
        redrive_moves_each_dead_letter_once,
        only_dead_letters_are_deleted,
        purge_deletes_a_bounded_number,
        forget_lets_completion_records_expire,
        page_continues_while_jobs_come_and_go,
        stats_add_up,
        resume_leaves_wake_up_markers,
    );
    nothing_was_refused(&redis).await
}

#[tokio::test]
async fn documented_rights_suffice_for_limits() -> Result<()> {
    let redis = server().await?;
    // The response time-out of a limit is short: it does not pass on a clock that stands still.
    let keel = Keel::builder().clock(TestClock::default().clock()).connect(&redis.url()).await?;
    let api = keel.limit("api").level("tenant", Rate::new(1, Duration::from_secs(60)));
    let api = api.level("key", Window::new(5, Duration::from_secs(60))).open().await?;
    for is_admitted in [true, false] {
        let decision = api.check(&["acme", "7"]).await?;
        assert_eq!((decision.is_admitted(), decision.by()), (is_admitted, DecidedBy::Store));
    }
    nothing_was_refused(&redis).await
}

/// Two processes that contend for one lock, and an operator.
#[tokio::test]
async fn documented_rights_suffice_for_locks() -> Result<()> {
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
    // The same for shared locks and for stripes.
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
async fn documented_rights_suffice_for_a_stream_sink() -> Result<()> {
    let redis = server().await?;
    let keel = Keel::connect(&redis.url()).await?;
    let streams = RedisStreams::new(keel.link().context("a keel on Redis has a link")?.clone());
    for limit in [Limit::Unlimited, Limit::Refuse(10), Limit::TrimOldest(10)] {
        let rule = Rule { limit, deduplication_ms: 60_000 };
        for message in [unordered("1"), ordered("cup", 1)] {
            streams.append(rule, &[message]).await?;
        }
    }
    nothing_was_refused(&redis).await
}

/// All that opening a stream, appending, consuming in each mode and operating ask for.
#[tokio::test]
async fn documented_rights_suffice_for_streams() -> Result<()> {
    let redis = server().await?;
    let keel = Keel::connect(&redis.url()).await?;
    let orders: Stream<String> = keel.stream("orders").partitions(2).open().await?;
    let (done, mut is_done) = tokio::sync::mpsc::unbounded_channel();
    for group in [orders.group("billing").unordered(), orders.group("shipping").per_key(OnFailure::Skip)] {
        let done = done.clone();
        let consumer = group.retries(0).handle(move |entry: Entry<String>| {
            let done = done.clone();
            async move {
                done.send(()).map_err(|_| "the receiver is closed")?;
                if entry.value == "dead" { Err("no such account") } else { Ok(()) }
            }
        });
        let all = async {
            for value in ["fine", "dead"] {
                orders.entry("a", &value.to_owned()).header("from", "shop").append().await.unwrap();
                is_done.recv().await.unwrap();
            }
        };
        consumer.run(all).await?;
        while is_done.try_recv().is_ok() {}
    }
    let admin = orders.admin();
    for group in ["billing", "shipping"] {
        let dead = admin.dead(group)?;
        for partition in 0..2 {
            let letters: Vec<EntryId> =
                dead.list(partition, EntryId::MIN, 10).await?.iter().map(|letter| letter.id).collect();
            dead.replay(partition, &letters).await?;
            dead.remove(partition, &letters).await?;
        }
        admin.pause(group, None).await?;
        admin.resume(group).await?;
        admin.seek(group, SeekTo::End).await?;
    }
    assert_eq!(admin.groups().await?.len(), 2);
    admin.trim(Duration::ZERO).await?;
    assert!(admin.unregister("billing").await?);
    let (steps, partitions) = orders.steps();
    let sweep = Sweep { group: GroupName::new("shipping")?, silent_ms: 0 };
    steps.run(&partitions[0], &sweep).await?;
    nothing_was_refused(&redis).await
}

/// All that opening a queue, sending, consuming and scheduling ask for.
#[tokio::test]
async fn documented_rights_suffice_for_consumers() -> Result<()> {
    let redis = server().await?;
    let keel = Keel::connect(&redis.url()).await?;
    let mail: Queue<String> = keel.queue("mail").shards(2).jobs_max(100).open().await?;
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

/// A worker waits for its topic's marker on a separate connection; lock waiters receive their messages on a channel.
#[tokio::test]
async fn documented_rights_suffice_to_wait_and_subscribe() -> Result<()> {
    let redis = server().await?;
    let keel = Keel::connect(&redis.url()).await?;
    let link = keel.link().context("a keel on Redis has a link")?;
    redis.command::<()>(&["ZADD", "{evenkeel:q:mail:0}:wake", "0", "marker"]).await?;
    let mut blocking = link.blocking().await?;
    let wait = redis::cmd("BZPOPMIN").arg("{evenkeel:q:mail:0}:wake").arg(1).to_owned();
    assert_ne!(blocking.command(&wait, Duration::from_secs(1)).await?, redis::Value::Nil);
    let mut received = link.subscribe(b"evenkeel:notification").await?;
    redis.command::<()>(&["SPUBLISH", "evenkeel:notification", "words"]).await?;
    assert_eq!(received.next().await, Some(Notification::Message("words".into())));
    link.command(b"", redis::cmd("CLIENT").arg("TRACKING").arg("ON").arg("OPTIN")).await?;
    nothing_was_refused(&redis).await
}
