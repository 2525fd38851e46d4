//! Large bodies next to small ones on one keel.

use super::desk::{Desk, open};
use super::rig::{Rig, ended, in_time};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::codec::Raw;
use evenkeel::queue::topic::{JobState, Seen};
use evenkeel::queue::{Delivery, Handled, Queue};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;
use testkit::memory::Growth;
use testkit::proxy::Proxy;
use testkit::step_command;
use tokio::sync::{mpsc, oneshot};

on_both! {
    large_bodies_do_not_block_small_jobs
    many_bodies_of_a_mebibyte_keep_the_connection
    page_of_large_jobs_is_read
    large_body_survives_a_retry_unchanged
}

pub(super) const MIB: usize = 1 << 20;
/// The peak memory of the process, as a multiple of the size of all bodies, which are delivered at once.
const COPIES_MAX: u64 = 2;

/// A body that shows where each of its parts belongs.
fn body(number: u8, bytes: usize) -> Bytes {
    let mut body = vec![number; bytes];
    body.chunks_mut(1000).zip(0_u32..).for_each(|(part, place)| {
        let mark = place.to_be_bytes();
        let length = part.len().min(4);
        part[..length].copy_from_slice(&mark[..length]);
    });
    body.into()
}

async fn bulk(keel: &Keel) -> Queue<Bytes> {
    keel.queue("bulk").codec(Raw).body_bytes_max(32 * MIB).open().await.unwrap()
}

/// The epochs that the link of this process has had; none in memory.
fn epoch(keel: &Keel) -> Option<u64> {
    keel.link().map(|link| link.epoch().expect("the link is up").number())
}

/// Sends bodies of these sizes and waits until all of them have arrived, while small jobs go through another queue of the keel.
pub(super) async fn all_arrive(rig: &Rig, sizes: Vec<usize>, concurrency: usize) {
    let keel = rig.process().await;
    let (bulk, mail) = (bulk(&keel).await, keel.queue::<String>("mail").open().await.unwrap());
    let began = epoch(&keel);
    let (sender, mut arrived) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let small_job = async || {
        let id = mail.now(&"small".to_owned()).await.expect("a call of another queue fails");
        assert_eq!(desk.done().await, "small");
        ended(&mail, &id).await;
    };
    // Small jobs pass large ones that are being sent, and later those that are delivered.
    let all_sent = Cell::new(false);
    let sends = async {
        for (number, size) in (0..).zip(&sizes) {
            bulk.now(&body(number, *size)).await.unwrap();
        }
        all_sent.set(true);
    };
    let small = async {
        while !all_sent.get() {
            small_job().await;
        }
    };
    tokio::join!(small, sends);
    let growth = Growth::begin().unwrap();
    let consumer = bulk.consume(move |delivery: Delivery<Bytes>| {
        let sender = sender.clone();
        async move {
            // The test may have failed by now.
            let _ = sender.send(delivery.body);
            Ok::<_, Infallible>(Handled::Done)
        }
    });
    let consumer = tokio::spawn(consumer.concurrency(concurrency).run(async {
        let _ = stopped.await;
    }));
    let all_here = Cell::new(false);
    let small = async {
        while !all_here.get() {
            small_job().await;
        }
    };
    let large = async {
        let mut missing: Vec<u8> = (0..).take(sizes.len()).collect();
        while !missing.is_empty() {
            let arrived = arrived.recv().await.unwrap();
            let number = arrived[500];
            assert!(arrived == body(number, sizes[usize::from(number)]), "body {number} has changed on its way");
            let place = missing.iter().position(|missing| *missing == number).expect("it has come twice");
            missing.remove(place);
        }
        all_here.set(true);
    };
    tokio::join!(small, large);
    drop(stop);
    consumer.await.unwrap().unwrap();
    office.close().await;
    assert_eq!(epoch(&keel), began, "the link broke");
    let (peak, all) = (growth.peak().unwrap(), sizes.iter().sum::<usize>() as u64);
    assert!(peak <= COPIES_MAX * all, "{} MiB for {} MiB of bodies", peak >> 20, all >> 20);
}

/// All bodies of a claim came in one reply, which timed out and was requested again, forever.
// shows: Q9, Q22, hazard F7
async fn large_bodies_do_not_block_small_jobs(rig: Rig) {
    all_arrive(&rig, vec![20 * MIB; 8], 16).await;
}

// shows: Q9, hazard F7
async fn many_bodies_of_a_mebibyte_keep_the_connection(rig: Rig) {
    all_arrive(&rig, vec![MIB; 100], 64).await;
}

// shows: hazard F7
async fn page_of_large_jobs_is_read(rig: Rig) {
    let keel = rig.process().await;
    let bulk = bulk(&keel).await;
    let sizes = [2000, 3 * MIB, 30_000, 5 * MIB, MIB, MIB / 2, 900_000, 900_000, 900_000, 900_000, 900_000, 900_000];
    let mut ids = Vec::new();
    for (number, size) in (0..).zip(sizes) {
        ids.push(bulk.now(&body(number, size)).await.unwrap());
    }
    let page = keel.topic("bulk").await.unwrap().peek(JobState::Waiting, None, 100).await.unwrap();
    assert_eq!(page.jobs.len(), sizes.len());
    for (number, (id, size)) in (0..).zip(ids.iter().zip(sizes)) {
        let seen = page.jobs.iter().find(|seen| seen.id == *id).unwrap();
        assert!(seen.job.as_ref().unwrap().spec.body == body(number, size), "body {number}");
    }
}

/// A reply with all bodies of a page would block the connection for all small calls of the process.
// shows: hazard F7
#[tokio::test]
async fn page_is_read_in_replies_of_four_mebibytes() {
    in_time(async {
        let rig = Rig::redis().await;
        let proxy = Proxy::start(rig.port(), 1).await.unwrap();
        let keel = rig.process_through(|url| format!("{}?response_timeout_ms=15000", proxy.url(url))).await;
        let bulk = bulk(&keel).await;
        for number in 0..12 {
            bulk.now(&body(number, 900_000)).await.unwrap();
        }
        let topic = keel.topic("bulk").await.unwrap();
        proxy.forget_commands();
        let page = topic.peek(JobState::Waiting, None, 100).await.unwrap();
        assert_eq!(page.jobs.len(), 12);
        let scripts = proxy.commands().into_iter().filter(|command| command.name == step_command());
        let mut calls = BTreeMap::new();
        scripts.for_each(|command| *calls.entry(command.argument).or_insert(0) += 1);
        let mut calls: Vec<i32> = calls.into_values().collect();
        calls.sort_unstable();
        assert_eq!(calls, [3, 4], "three times four bodies, and the ids of four priorities");
    })
    .await;
}

/// A search through all jobs had a page of them in memory at once, however large they were.
// shows: hazard CL20, queue::Topic::scan
#[tokio::test]
async fn scan_reads_at_most_four_mebibytes_at_once() {
    in_time(async {
        let rig = Rig::redis().await;
        let keel = rig.process().await;
        let bulk = bulk(&keel).await;
        let sizes = [3 * MIB, 900_000, 900_000, 900_000, 900_000, 900_000, 900_000, 5 * MIB, 2000];
        for (number, size) in (1_u8..).zip(sizes) {
            bulk.delay(Duration::from_secs(3_600 + u64::from(number)), &body(number, size)).await.unwrap();
        }
        let topic = keel.topic("bulk").await.unwrap();
        let (mut pages, mut before) = (Vec::new(), None);
        loop {
            let page = topic.scan(JobState::Waiting, before, 100).await.unwrap();
            let size = |seen: &Seen| seen.job.as_ref().unwrap().spec.body.len();
            pages.push(page.jobs.iter().map(size).collect::<Vec<_>>());
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        let expected = [vec![2000], vec![5 * MIB], vec![900_000; 4], vec![900_000; 2], vec![3 * MIB]];
        assert_eq!(pages, expected, "a job above a mebibyte is a page of its own");
    })
    .await;
}

/// A record's appended notes and lease work for large records as for small ones.
// shows: hazard F7
async fn large_body_survives_a_retry_unchanged(rig: Rig) {
    let keel = rig.process().await;
    let mail = keel.queue::<String>("mail").open().await.unwrap();
    let large = "x".repeat(300_000);
    mail.job(&large).header("tenant", "a").enqueue().await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let first = desk.next().await;
    assert!(first.delivery.progress("half of it").await.unwrap());
    first.answer(Ok(Handled::Snooze(Duration::ZERO)));
    let second = desk.next().await;
    assert!(second.delivery.body == large);
    assert_eq!(second.delivery.headers().get("tenant").map(String::as_str), Some("a"));
    assert_eq!(second.delivery.last_progress(), Some(&b"half of it"[..]));
    second.answer(Ok(Handled::Done));
    office.close().await;
}
