//! A topic as its operators see it, over several shards.

use anyhow::{Context, Result};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::codec::Raw;
use evenkeel::queue::QueueError;
use evenkeel::queue::topic::alert::{AlertKind, AlertLimits, Watch};
use evenkeel::queue::topic::{Amended, Filter, JobState, NewTopicJob, Topic, Why};
use evenkeel_protocol::queue::QueueBackend;
use evenkeel_protocol::queue::job::{JobId, Priority};
use evenkeel_protocol::queue::steps::{
    Found, Outcome, ReadStats, Redrive as RedriveCall, Rescheduled, Revoked, SettleAndClaim, Settled, Shard, State,
    When,
};
use std::collections::BTreeSet;
use testkit::conformance::queue::{Consumer, job};
use testkit::park::{self, SharedRedis};
use testkit::servers::{Redis, RedisOptions};

const SHARDS: u16 = 3;
const HOUR_MS: u64 = 3_600_000;

/// A topic over three shards in its own keel.
async fn opened(keel: &Keel) -> Result<Topic> {
    keel.queue::<String>("mail").codec(Raw).shards(SHARDS).open().await?;
    Ok(keel.topic("mail").await?)
}

async fn on_redis() -> Result<(SharedRedis, Keel, Topic)> {
    let redis = park::redis().await?;
    let keel = Keel::connect(&format!("{}?prefix={}", redis.url, redis.prefix)).await?;
    let topic = opened(&keel).await?;
    Ok((redis, keel, topic))
}

fn new(body: &str, when: When) -> NewTopicJob {
    NewTopicJob {
        body: Bytes::copy_from_slice(body.as_bytes()),
        when,
        name: Some(body.to_owned()),
        unique: None,
        priority: Priority::Normal,
        retries: None,
    }
}

async fn given(topic: &Topic, count: usize) -> Result<Vec<JobId>> {
    let mut ids = Vec::new();
    for number in 0..count {
        let delay = HOUR_MS + u64::try_from(number)? * 1_000;
        ids.push(topic.add(new(&format!("job {number}"), When::In(delay))).await?.0);
    }
    Ok(ids)
}

/// Every page of one place, `limit` jobs each.
async fn pages(topic: &Topic, limit: usize) -> Result<Vec<JobId>> {
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let page = topic.peek(JobState::Waiting, after, limit).await?;
        ids.extend(page.jobs.iter().map(|seen| seen.id));
        after = page.next;
        if after.is_none() {
            return Ok(ids);
        }
    }
}

/// Operations on waiting jobs, on either backend.
async fn waiting_jobs_are_operated(topic: &Topic) -> Result<()> {
    let ids = given(topic, 20).await?;
    let shards: BTreeSet<u16> = ids.iter().map(|id| id.shard(SHARDS)).collect();
    assert_eq!(shards.len(), usize::from(SHARDS), "twenty jobs are on all three shards");
    assert_eq!(pages(topic, 6).await?, ids, "pages go by due time over all shards, and end");
    assert_eq!(topic.stats().await?.total.waiting(), 20);
    let mut newest = Vec::new();
    let mut before = None;
    loop {
        let page = topic.previews(JobState::Waiting, before, 6).await?;
        newest.extend(page.jobs.iter().map(|seen| seen.listed.id));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    newest.reverse();
    assert_eq!(newest, ids, "the newest first, over all shards");
    let (mut scanned, mut before) = (Vec::new(), None);
    loop {
        let page = topic.scan(JobState::Waiting, before, 6).await?;
        scanned.extend(page.jobs.into_iter().map(|seen| seen.job.map(|job| job.spec.body)));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    let bodies = (0..20).rev().map(|number| Ok(Bytes::from(format!("job {number}"))));
    assert!(scanned.into_iter().eq(bodies), "whole jobs, the newest first");
    assert!(matches!(topic.why(ids[4]).await?, Why::NotDue { in_ms } if in_ms > 0));
    assert_eq!(topic.why(job("unknown").id).await?, Why::Unknown);
    assert_eq!(topic.amend(ids[4], "job 4".into(), "x".into()).await?, Amended::NotDead);

    let again = topic.add(new("job 3", When::In(0))).await?;
    assert_eq!(again, (ids[3], evenkeel_protocol::queue::steps::Enqueued::Duplicate));
    let revoked = topic.revoke(&[ids[5], job("unknown").id, ids[0]]).await?;
    assert_eq!(revoked, [Revoked::Revoked, Revoked::Unknown, Revoked::Revoked], "in the order of the call");
    assert_eq!(topic.reschedule(ids[7], When::In(60_000)).await?, Rescheduled::Changed);
    assert_eq!(topic.edit(ids[8], Bytes::from_static(b"edited")).await?, Rescheduled::Changed);
    let Some(Found::Live { job: edited, .. }) = topic.job(ids[8]).await? else { panic!("it waits") };
    assert_eq!(edited.spec.body, "edited");
    assert_eq!(pages(topic, 50).await?[0], ids[7], "what was moved is the first now");
    assert_eq!(topic.run_now(&[ids[9], ids[0]]).await?[0], Rescheduled::Changed);
    assert_eq!(topic.stats().await?.total.ready, 1);
    assert_eq!(topic.why(ids[9]).await?, Why::NoConsumer);

    topic.pause(None).await?;
    assert!(topic.stats().await?.is_paused());
    assert_eq!(topic.why(ids[9]).await?, Why::Paused { in_ms: None });
    topic.resume().await?;
    assert!(!topic.stats().await?.is_paused());

    let refused = topic.purge(JobState::Waiting, "male").await;
    assert!(matches!(&refused, Err(QueueError::Invalid(text)) if text.contains("mail")), "{refused:?}");
    assert!(topic.purge(JobState::Leased, "mail").await.is_err(), "what runs is not purged");
    assert_eq!(topic.purge(JobState::Waiting, "mail").await?, 18);
    assert_eq!(topic.stats().await?.total.waiting(), 0);
    Ok(())
}

// shows: queue::Topic::add, queue::Topic::purge, queue::Why, queue::Topic::scan
#[tokio::test]
async fn operators_manage_waiting_jobs_in_memory() -> Result<()> {
    waiting_jobs_are_operated(&opened(&Keel::memory()).await?).await
}

// shows: queue::Topic::add, queue::Topic::reschedule, queue::Topic::edit, queue::Topic::change, queue::Topic::run_now
// shows: queue::Topic::purge, queue::Why, queue::Topic::scan
#[tokio::test]
async fn operators_manage_waiting_jobs_on_redis() -> Result<()> {
    let (_redis, _keel, topic) = on_redis().await?;
    waiting_jobs_are_operated(&topic).await
}

// shows: queue::Keel::topic, queue::Keel::topics
#[tokio::test]
async fn unopened_topic_is_unknown() -> Result<()> {
    let keel = Keel::memory();
    let unknown = keel.topic("mail").await;
    assert!(matches!(unknown, Err(QueueError::UnknownTopic { .. })), "{unknown:?}");
    assert!(keel.topics().await?.found.is_empty());
    opened(&keel).await?;
    let names: Vec<String> = keel.topics().await?.found.iter().map(|topic| topic.name().to_owned()).collect();
    assert_eq!(names, ["mail"]);
    Ok(())
}

/// The shards of the topic, to be consumed by hand.
fn by_hand(keel: &Keel) -> Result<(QueueBackend, Vec<Shard>)> {
    let link = keel.link().context("on Redis")?;
    let shards = (0..SHARDS).map(|number| Shard::new(link.prefix(), "mail", number)).collect();
    Ok((QueueBackend::redis(link.clone()), shards))
}

/// Claims everything that is due, and settles it if there is an outcome for it.
async fn consume(keel: &Keel, outcome: impl Fn(&[u8]) -> Option<Outcome>) -> Result<usize> {
    let (queue, shards) = by_hand(keel)?;
    let mut claimed = 0;
    for shard in shards {
        let mut consumer = Consumer::default();
        let Settled::Done(taken) = queue.run(&shard, &consumer.call(100)).await? else { continue };
        let settlements = taken.deliveries.iter().filter_map(|delivered| {
            let body = &delivered.job.as_ref().ok()?.spec.body;
            Some((delivered.receipt, outcome(body)?))
        });
        let settlements = settlements.collect();
        queue.run(&shard, &SettleAndClaim { settlements, ..consumer.call(0) }).await?;
        claimed += taken.deliveries.len();
    }
    Ok(claimed)
}

/// Twelve dead letters: the even ones had no route, the odd ones a bad address.
async fn letters(keel: &Keel, topic: &Topic) -> Result<Vec<JobId>> {
    let mut ids = Vec::new();
    for number in 0..12 {
        ids.push(topic.add(new(&format!("letter {number}"), When::In(0))).await?.0);
    }
    let odd = |body: &[u8]| body.last().is_some_and(|digit| digit % 2 == 1);
    let reason = |body: &[u8]| if odd(body) { "bad address" } else { "no route to host" };
    let died =
        consume(keel, |body| Some(Outcome::Dead { reason: Bytes::from_static(reason(body).as_bytes()) })).await?;
    assert_eq!(died, 12);
    Ok(ids)
}

/// A redrive that was requested twice, or was interrupted and started again, ran every letter twice. The same name
/// continues, with its first filter, and takes no letter twice.
// shows: Q8, queue::TopicRedrive::run, queue::TopicRedrive::run_with, queue::TopicRedrive::dry_run
#[tokio::test]
async fn redrive_resumes_under_its_name() -> Result<()> {
    let (_redis, keel, topic) = on_redis().await?;
    letters(&keel, &topic).await?;
    let filter = Filter { error_contains: Some("no route".to_owned()), ..Filter::default() };
    let redrive = topic.redrive("after the fix").filter(filter.clone());
    let dry = redrive.dry_run().await?;
    assert_eq!((dry.matching, dry.dead), (6, 12));
    assert_eq!(topic.stats().await?.total.dead, 12, "a dry run changes nothing");

    let first = redrive.clone().limit(2).run().await?;
    assert_eq!((first.taken, first.taken_in_all), (2, 2));
    let mut pages = 0;
    let rest = topic.redrive("after the fix").run_with(|_| pages += 1).await?;
    assert_eq!((rest.taken, rest.taken_in_all, &rest.filter), (4, 6, &filter), "the filter of the first call counts");
    assert!(pages >= 1);
    consume(&keel, |_| Some(Outcome::Dead { reason: Bytes::from_static(b"no route to host") })).await?;
    let again = redrive.run().await?;
    assert_eq!((again.taken, again.taken_before), (0, 6), "they died again, and this redrive leaves them");
    assert_eq!(topic.redrive("another").run().await?.taken, 12);
    Ok(())
}

/// Another program uses a key of the last shard, which has three of the six letters that had no route; the one before it has the others.
/// Returns the key, and where its value is now.
async fn last_shard_is_sick(keel: &Keel) -> Result<(String, String)> {
    let link = keel.link().context("on Redis")?;
    let meta = format!("{}:meta", by_hand(keel)?.1[2].tag());
    let aside = format!("{meta}:aside");
    link.command(meta.as_bytes(), redis::cmd("RENAME").arg(&meta).arg(&aside)).await?;
    link.command(meta.as_bytes(), redis::cmd("SET").arg(&meta).arg("another program's")).await?;
    Ok((meta, aside))
}

/// The letters of all shards were unknown while Redis rejected one.
// shows: hazard SF16
#[tokio::test]
async fn dry_run_with_a_sick_shard_counts_letters_of_the_others() -> Result<()> {
    let (_redis, keel, topic) = on_redis().await?;
    letters(&keel, &topic).await?;
    let dead: u64 = topic.stats().await?.shards.iter().take(2).map(|shard| shard.dead).sum();
    last_shard_is_sick(&keel).await?;
    let filter = Filter { error_contains: Some("no route".to_owned()), ..Filter::default() };
    let dry = topic.redrive("all").filter(filter).dry_run().await?;
    assert_eq!((dry.matching, dry.dead, dry.first.len()), (3, dead, 3));
    assert!(dry.rejected.iter().any(|rejection| rejection.error.to_string().contains("WRONGTYPE")), "{dry:?}");
    Ok(())
}

/// One shard that Redis rejected kept the dead letters of all others from being redriven.
// shows: hazard SF13
#[tokio::test]
async fn redrive_with_a_sick_shard_takes_letters_of_the_others() -> Result<()> {
    let (_redis, keel, topic) = on_redis().await?;
    letters(&keel, &topic).await?;
    let (meta, aside) = last_shard_is_sick(&keel).await?;
    let filter = Filter { error_contains: Some("no route".to_owned()), ..Filter::default() };
    let refused = topic.redrive("all").filter(filter.clone()).run().await;
    assert!(refused.as_ref().is_err_and(|error| error.to_string().contains("WRONGTYPE")), "{refused:?}");
    let link = keel.link().context("on Redis")?;
    link.command(meta.as_bytes(), redis::cmd("RENAME").arg(&aside).arg(&meta)).await?;
    let stats = topic.stats().await?.total;
    assert_eq!(stats.dead, 9);
    // The shard fixes its cutoff later than the others.
    while topic.stats().await?.total.now <= stats.now {
        tokio::task::yield_now().await;
    }
    let rest = topic.redrive("all").run().await?;
    assert_eq!((rest.taken, rest.taken_in_all, &rest.filter), (3, 6, &filter), "the filter of the first call counts");
    Ok(())
}

/// A thousand dead letters that are redriven within one second would overload a service that has just recovered.
#[tokio::test]
async fn redrive_with_a_rate_spreads_its_letters() -> Result<()> {
    let (_redis, keel, topic) = on_redis().await?;
    let ids = letters(&keel, &topic).await?;
    let before = topic.stats().await?.total.now;
    let done = topic.redrive("slowly").only(ids.iter().copied().take(6)).per_second(2).run().await?;
    assert_eq!(done.taken, 6);
    let page = topic.peek(JobState::Waiting, None, 20).await?;
    let last = page.jobs.last().context("six wait")?;
    assert!(last.score >= before + 2_000, "the sixth at two a second is due after two seconds");
    assert_eq!(topic.stats().await?.total.dead, 6);
    Ok(())
}

/// An alert must neither be repeated at every poll nor remain after its cause.
// shows: queue::Topic::stats, queue::Watch::look
#[tokio::test]
async fn alerts_are_raised_and_cleared_once() -> Result<()> {
    let (_redis, keel, topic) = on_redis().await?;
    let limits = AlertLimits {
        backlog_max: Some(3),
        dead_max: Some(0),
        idle_ms_max: Some(0),
        running_ms_max: Some(0),
        late_ms_max: Some(HOUR_MS),
    };
    let mut watch = Watch::new(topic.clone(), limits);
    assert_eq!(watch.look().await?, []);
    for number in 0..4 {
        topic.add(new(&format!("letter {number}"), When::In(0))).await?;
    }
    // They are late once a millisecond has passed.
    let added_at = topic.stats().await?.total.now;
    while topic.stats().await?.total.now <= added_at {
        tokio::task::yield_now().await;
    }
    let kinds = |alerts: &[evenkeel::queue::topic::alert::Alert]| -> Vec<(AlertKind, bool)> {
        alerts.iter().map(|alert| (alert.kind, alert.raised)).collect()
    };
    assert_eq!(kinds(&watch.look().await?), [(AlertKind::Backlog, true), (AlertKind::Idle, true)]);
    assert_eq!(watch.look().await?, [], "reported once");

    // Two outcomes, two jobs that keep running; a millisecond passes meanwhile.
    let fate = |body: &[u8]| (body.last()? % 2 == 0).then(|| Outcome::Dead { reason: Bytes::new() });
    consume(&keel, fate).await?;
    let (queue, shards) = by_hand(&keel)?;
    let claimed_at = queue.run(&shards[0], &ReadStats).await?.now;
    while queue.run(&shards[0], &ReadStats).await?.now <= claimed_at {
        tokio::task::yield_now().await;
    }
    let changes = watch.look().await?;
    let expected = [
        (AlertKind::Backlog, false),
        (AlertKind::DeadLetters, true),
        (AlertKind::Idle, false),
        (AlertKind::LongRun, true),
    ];
    assert_eq!(kinds(&changes), expected);
    assert!(changes[3].job.is_some());
    assert_eq!(changes[1].to_string(), "queue mail: 2 dead letters, the limit is 0");
    assert_eq!(changes[0].to_string(), "resolved: queue mail: 0 jobs wait, the limit is 3");
    assert_eq!(watch.active().count(), 2);
    topic.purge(JobState::Dead, "mail").await?;
    assert_eq!(kinds(&watch.look().await?), [(AlertKind::DeadLetters, false)]);
    Ok(())
}

/// A watch that only logged failed checks was silent while Redis was away, when all jobs were late.
#[tokio::test]
async fn watch_reports_an_unreachable_redis_once() -> Result<()> {
    let mut redis = Redis::start(RedisOptions::new()).await?;
    let keel = Keel::connect(&redis.url()).await?;
    let topic = opened(&keel).await?;
    let mut watch = Watch::new(topic, AlertLimits::default());
    assert_eq!(watch.check().await, []);
    redis.kill()?;
    let raised = watch.check().await;
    assert!(matches!(&raised[..], [alert] if alert.kind == AlertKind::Unreachable && alert.raised), "{raised:?}");
    assert!(raised[0].to_string().starts_with("queue mail: its store could not be read"), "{}", raised[0]);
    assert_eq!(watch.check().await, [], "reported once");
    assert_eq!(watch.active().count(), 1);
    redis.restart().await?;
    let link = keel.link().context("on Redis")?;
    link.state().wait_for(|state| state.is_up()).await?;
    let resolved = watch.check().await;
    assert!(matches!(&resolved[..], [alert] if alert.kind == AlertKind::Unreachable && !alert.raised), "{resolved:?}");
    assert_eq!(watch.active().count(), 0);
    Ok(())
}

/// An older program that continued a newer one's redrive ignored the field of the filter that it did not know, and took every letter.
// shows: Q8
#[tokio::test]
async fn redrive_with_an_unknown_filter_takes_nothing() -> Result<()> {
    let (_redis, keel, topic) = on_redis().await?;
    letters(&keel, &topic).await?;
    let (queue, shards) = by_hand(&keel)?;
    let JobId(redrive) = JobId::named(b"redrive of a newer program");
    for shard in &shards {
        let filter = Bytes::from_static(br#"{"error_contains":"no route","attempts_min":9}"#);
        queue.run(shard, &RedriveCall { redrive, filter, ids: Vec::new(), delay_ms: 0 }).await?;
    }
    let refused = topic.redrive("of a newer program").run().await;
    assert!(
        matches!(&refused, Err(QueueError::Invalid(text)) if text.contains("attempts_min") && text.contains("mail")),
        "{refused:?}"
    );
    assert_eq!(topic.stats().await?.total.dead, 12);
    Ok(())
}

/// A redrive of named jobs did not store that they were named: continuing it without the names redrove every matching letter.
#[tokio::test]
async fn redrive_of_named_jobs_is_not_continued_without_names() -> Result<()> {
    let (_redis, keel, topic) = on_redis().await?;
    let ids = letters(&keel, &topic).await?;
    let some = || topic.redrive("some").only(ids.iter().copied().take(6));
    assert_eq!(some().limit(2).run().await?.taken, 2);
    let refused = topic.redrive("some").run().await;
    assert!(matches!(&refused, Err(QueueError::Invalid(text)) if text.contains("names none")), "{refused:?}");
    let rest = some().run().await?;
    assert_eq!((rest.taken, rest.taken_in_all, topic.stats().await?.total.dead), (4, 6, 6));
    Ok(())
}

/// A record that this program cannot read (a newer one wrote it) hid the whole page.
// shows: queue::Queue::find, queue::Topic::job, queue::Record::decode
#[tokio::test]
async fn unreadable_record_does_not_hide_others() -> Result<()> {
    let (_redis, keel, topic) = on_redis().await?;
    let ids = given(&topic, 3).await?;
    let (_, shards) = by_hand(&keel)?;
    let shard = &shards[usize::from(ids[1].shard(SHARDS))];
    let key = [shard.tag().as_bytes(), b":job:", &ids[1].0].concat();
    // The retention rule is a number that no version has used.
    let spoil = redis::cmd("SETRANGE").arg(&key).arg(3).arg(b"\xfa").to_owned();
    keel.link().context("on Redis")?.command(&key, &spoil).await?;
    let page = topic.peek(JobState::Waiting, None, 10).await?;
    let readable: Vec<bool> = page.jobs.iter().map(|seen| seen.job.is_ok()).collect();
    assert_eq!(readable, [true, false, true]);
    assert!(topic.job(ids[1]).await.is_err());
    assert_eq!(page.jobs[1].state, State::Waiting(Priority::Urgent), "its priority is not known");
    Ok(())
}
