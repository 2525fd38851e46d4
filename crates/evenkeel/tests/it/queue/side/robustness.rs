//! Random misuse of queues: settings of queues, jobs and consumers at their extremes in any combination, and hostile handlers, codecs,
//! policies and layers next to jobs that must be done once, with processes that die.

use super::desk::{Desk, open, open_any};
use super::extremes::{Change, SIZES, Settings, TIMES, changes, settings, spans};
use super::failures::hostile::{Body, Hostile, TABLE, classify, handle, history};
use super::large::{MIB, all_arrive};
use super::rig::{Mail, Rig, ended, state};
use crate::blocks::{block_again, unblock};
use crate::robustness::Round;
use evenkeel::queue::topic::{JobState, Topic};
use evenkeel::queue::{Consumer, Delivery, JobId, Queue, QueueError};
use evenkeel_protocol::queue::steps::{Limits, When};
use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

async fn rig(round: &Round) -> Rig {
    if round.is_on_redis() { Rig::redis().await } else { Rig::memory() }
}

fn is_refusal(error: &QueueError) -> bool {
    use QueueError::{Codec, Full, Invalid, Settings, TooLarge, TooMany};
    matches!(error, Settings { .. } | Invalid(_) | Codec(_) | TooLarge { .. } | TooMany { .. } | Full { .. })
}

/// Queues with up to four settings drawn from the table of extremes, then jobs and operators' calls with extreme parameters.
pub(crate) async fn extremes(mut round: Round) {
    let rig = rig(&round).await;
    let keel = rig.process().await;
    let mail = rig.mail().await;
    let desk = Desk::new();
    let neighbor = open(desk.consumer(&mail));
    // How long copies are waited for is the server's time, and how long a full queue is waited for the caller's choice.
    let settings: Vec<(String, Settings)> =
        settings().into_iter().filter(|(what, _)| !what.contains("timeout") && !what.contains("when_full")).collect();
    let changes = changes();
    for number in 0..6 {
        let (builder, what) = round.change(keel.queue(&format!("queue-{number}")), &settings, 1..=4);
        let opened = builder.open().await;
        let Some(queue) = round.result(format!("open {what}"), opened, is_refusal) else { continue };
        let mut ids = Vec::new();
        for _ in 0..16 {
            send(&mut round, &queue, &changes, &mut ids).await;
            operate(&mut round, &queue.topic(), &ids).await;
        }
        // The shards of a queue are polled in turn, which takes time.
        if !what.contains("shards") {
            consume(&mut round, &rig, &queue).await;
        }
        // The queue next to it is served.
        let id = mail.now(&"fine".to_owned()).await.unwrap();
        assert_eq!(desk.done().await, "fine");
        ended(&mail, &id).await;
        round.checked(1);
    }
    neighbor.close().await;
}

/// A job with up to three extreme settings.
async fn send(round: &mut Round, queue: &Mail, changes: &[(String, Change)], ids: &mut Vec<JobId>) {
    let body = "extreme".to_owned();
    let (job, what) = round.change(queue.job(&body), changes, 0..=3);
    if round.chance(20) {
        let version = *round.one(&[0, 1, (1 << 53) + 1, u64::MAX]);
        let put = job.put(version).await;
        round.result(format!("put at {version}: {what}"), put, is_refusal);
    } else {
        let sent = job.enqueue().await;
        ids.extend(round.result(format!("enqueue: {what}"), sent, is_refusal).map(|sent| sent.id));
    }
}

/// An operator's call with extreme parameters.
async fn operate(round: &mut Round, topic: &Topic, ids: &[JobId]) {
    let (span, time, size) = (*round.one(&spans()), *round.one(&TIMES), *round.one(&SIZES));
    let unknown = JobId([7; 16]);
    let id = if ids.is_empty() { unknown } else { *round.one(ids) };
    let among = *round.one(&[JobState::Waiting, JobState::Dead]);
    let limit = *round.one(&[0, 1, 500, 501, usize::MAX]);
    match round.number(0, 9) {
        0 => drop(round.result(format!("pause until {time}"), topic.pause(Some(time)).await, is_refusal)),
        1 => {
            let limits = Limits { jobs_max: Some(time), bytes_max: Some(size as u64) };
            round.result(format!("limits {limits:?}"), topic.set_limits(limits).await, is_refusal);
        }
        2 => {
            let ms = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
            let moved = topic.reschedule(id, When::In(ms)).await;
            round.result(format!("reschedule in {ms} ms"), moved, is_refusal);
        }
        3 => {
            let moved = topic.reschedule(id, When::At(time)).await;
            round.result(format!("reschedule to {time}"), moved, is_refusal);
        }
        4 => {
            let edited = topic.edit(id, vec![b'1'; size].into()).await;
            round.result(format!("edit to {size} bytes"), edited, is_refusal);
        }
        5 => {
            let page = topic.peek(among, None, limit).await;
            round.result(format!("peek {limit} {among:?}"), page, is_refusal);
        }
        6 => {
            let page = topic.newest(among, None, limit).await;
            round.result(format!("newest {limit} {among:?}"), page, is_refusal);
        }
        7 => {
            let name = "x".repeat(size);
            let per_second = *round.one(&[0, 1, u32::MAX]);
            let taken = topic.redrive(&name).per_second(per_second).limit(time).run().await;
            round.result(format!("redrive {time} at {per_second} a second"), taken, is_refusal);
        }
        8 => drop(round.result("revoke", topic.revoke(&[id, unknown]).await, is_refusal)),
        _ => {
            let shards = *round.one(&[0, 1025, u16::MAX]);
            round.result(format!("grow to {shards}"), topic.grow(shards).await, is_refusal);
        }
    }
    topic.stats().await.unwrap();
    round.checked(1);
}

/// A consumer with extreme settings starts, and ends when it is asked to; once the queue is usable, its next job runs.
async fn consume(round: &mut Round, rig: &Rig, queue: &Mail) {
    let topic = queue.topic();
    topic.set_limits(Limits { jobs_max: None, bytes_max: None }).await.unwrap();
    topic.resume().await.unwrap();
    let (drain, fill, delay) = (*round.one(&spans()), *round.one(&spans()), *round.one(&spans()));
    let crashes = *round.one(&[0, 1, u8::MAX]);
    let concurrency = *round.one(&[1, 2, 10_000]);
    round.step(format!("a consumer: drain {drain:?}, fill {fill:?}, crash_delay {delay:?}, {crashes}, {concurrency}"));
    let desk = Desk::new();
    let consumer = desk.consumer(queue).concurrency(concurrency).drain(drain).fill(fill).crash_delay(delay);
    let office = open(consumer.crashes_max(crashes));
    let urgent = queue.job(&"fine".to_owned()).priority(evenkeel::queue::Priority::Urgent).enqueue().await;
    if let Some(sent) = round.result("enqueue a fine job", urgent, is_refusal) {
        while desk.done().await != "fine" {}
        ended(queue, &sent.id).await;
        round.checked(1);
    }
    let serves = async {
        loop {
            desk.done().await;
        }
    };
    let closes = rig.while_time_passes(office.close());
    tokio::select! {
        () = closes => {}
        () = serves => {}
    }
}

/// Deliveries of the well-behaved jobs, by job.
type Seen = Arc<Mutex<HashMap<JobId, u32>>>;

fn consumer(queue: &Queue<Body>, seen: &Seen) -> Consumer<Body, super::failures::hostile::Oops> {
    let seen = Arc::clone(seen);
    let consumer = queue.consume(move |delivery: Delivery<Body>| {
        assert_ne!(delivery.body.0, "handler panics at once", "handler panics at once");
        if delivery.body.0 == "fine" {
            *seen.lock().unwrap().entry(delivery.id).or_default() += 1;
        }
        handle(delivery)
    });
    consumer.layer(Hostile).on_error(classify).drain(Duration::ZERO)
}

/// Hostile and well-behaved jobs in any order; in some rounds processes die in the middle.
pub(crate) async fn hostile(mut round: Round) {
    let rig = rig(&round).await;
    block_again();
    let mail = rig.mail_with(|builder| builder.retries(0)).await;
    let mut sent = Vec::new();
    for _ in 0..round.number(10, 60) {
        let row = if round.chance(50) { TABLE[0] } else { *round.one(&TABLE) };
        let id = mail.now(&row.0.to_owned()).await.unwrap();
        if row.0 == "fine" {
            round.step(row.0);
        } else {
            round.misbehaves(row.0);
        }
        sent.push((row, id));
    }
    let hanging = sent.iter().filter(|((body, ..), _)| body.contains("hangs")).count();
    let concurrency = hanging + usize::try_from(round.number(1, 8)).unwrap();
    let seen = Seen::default();
    let mut killed = 0;
    while round.chance(30) && killed < 2 {
        let queue: Queue<Body> = rig.process().await.queue("mail").open().await.unwrap();
        let task = tokio::spawn(consumer(&queue, &seen).concurrency(concurrency).run(pending()));
        for _ in 0..round.number(0, 300) {
            tokio::task::yield_now().await;
        }
        task.abort();
        // A body may panic while its handler is dropped.
        drop(task.await);
        killed += 1;
        round.misbehaves("the process dies");
        rig.advance(Duration::from_secs(120)).await;
    }
    let queue: Queue<Body> = rig.process().await.queue("mail").open().await.unwrap();
    let office = open_any(consumer(&queue, &seen).concurrency(concurrency));
    let settled = async {
        for ((body, expected, _), id) in &sent {
            while !body.contains("hangs") && state(&mail, id).await != *expected {
                tokio::task::yield_now().await;
            }
        }
    };
    if killed == 0 {
        settled.await;
    } else {
        unblock();
        // Jobs of a dead process are delivered again when their leases have expired; crashes may make them dead letters.
        let fine = async {
            for ((body, ..), id) in &sent {
                while *body == "fine" && state(&mail, id).await.is_some() {
                    tokio::task::yield_now().await;
                }
            }
        };
        rig.while_time_passes(fine).await;
    }
    office.close().await;
    for ((body, expected, words), id) in &sent {
        let history = history(&mail, id).await;
        if *body == "fine" {
            let deliveries = seen.lock().unwrap().get(id).copied().unwrap_or(0);
            // After a death of a process leases may expire, and jobs are delivered again.
            let is_right = if killed == 0 { deliveries == 1 } else { deliveries >= 1 };
            assert!(is_right, "a well-behaved job was delivered {deliveries} times");
        } else if killed == 0 {
            assert_eq!(state(&mail, id).await, *expected, "{body}: {history}");
            assert!(history.contains(words), "{body}: {history}");
        }
        round.checked(1);
    }
}

/// Bodies of 1 to 20 MiB, delivered at once, next to small jobs of another queue.
pub(crate) async fn sizes(mut round: Round) {
    let rig = rig(&round).await;
    let mut sizes = Vec::new();
    while sizes.iter().sum::<usize>() < 60 * MIB {
        sizes.push(usize::try_from(round.number(1 << 20, 20 << 20)).unwrap());
    }
    let concurrency = usize::try_from(round.number(1, 32)).unwrap();
    let (count, sizes_text) = (sizes.len() as u64, format!("{sizes:?}, {concurrency} at once"));
    round.misbehaves(sizes_text);
    all_arrive(&rig, sizes, concurrency).await;
    round.checked(count);
}
