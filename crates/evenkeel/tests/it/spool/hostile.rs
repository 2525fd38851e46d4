//! Programs that misbehave around a spool: they drop their calls, block their thread, or panic with a handle. What is acknowledged stays,
//! and other callers are served.

use super::{TOPIC, numbers, open, small, write};
use evenkeel::spool::{Fsync, Spool, SpoolError};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Begins an append without waiting for it.
async fn begin(append: impl Future<Output: std::fmt::Debug>) {
    let mut append = pin!(append);
    std::future::poll_fn(|context| {
        let _ = append.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}

// shows: hazard A28a
#[tokio::test]
async fn dropped_appends_are_stored_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let options = small().bytes_max(1 << 20).segment_bytes(4096);
    let spool = Spool::open(folder.path(), options.clone()).await.unwrap();
    let mut acknowledged = BTreeSet::new();
    for number in 0..400 {
        if number % 3 == 0 {
            spool.append(write(number)).await.unwrap();
            acknowledged.insert(number);
        } else {
            begin(spool.append(write(number))).await;
        }
    }
    spool.sync().await.unwrap();
    let before = numbers(&spool);
    let found: BTreeSet<u32> = before.iter().copied().collect();
    assert_eq!(found.len(), before.len(), "none is there twice");
    assert!(found.is_superset(&acknowledged) && found.iter().all(|number| *number < 400));
    spool.close().await.unwrap();
    assert_eq!(numbers(&Spool::open(folder.path(), options).await.unwrap()), before);
}

/// The runtime has one thread, and the program blocks it: the record reaches the disk all the same.
// shows: hazard A28a
#[tokio::test]
async fn blocked_thread_of_the_program_does_not_delay_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::open(folder.path(), small().fsync(Fsync::Always)).await.unwrap();
    let mut append = pin!(spool.append(write(1)));
    std::future::poll_fn(|context| {
        let _ = append.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
    while spool.stats().syncs == 0 {
        std::thread::yield_now();
    }
    append.await.unwrap();
    assert_eq!(numbers(&spool), [1]);
}

// shows: hazard A28a
#[tokio::test]
async fn panic_of_a_consumer_leaves_its_records_pending() {
    let folder = tempfile::tempdir().unwrap();
    let spool = open(folder.path()).await;
    for number in 1..=3 {
        spool.append(write(number)).await.unwrap();
    }
    let clone = spool.clone();
    let consumer = tokio::spawn(async move {
        let first = clone.pending(TOPIC, 1).remove(0);
        clone.done(&[first.sequence]);
        panic!("at the next one, on purpose");
    });
    assert!(consumer.await.unwrap_err().is_panic());
    spool.append(write(4)).await.unwrap();
    spool.sync().await.unwrap();
    assert_eq!(numbers(&spool), [2, 3, 4]);
    spool.close().await.unwrap();
    assert_eq!(numbers(&open(folder.path()).await), [2, 3, 4]);
}

/// A call that reached the channel while its receiver was dropped waited for as long as a handle of the spool existed.
// shows: hazard A28b
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn calls_during_a_close_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..3_000 {
        let spool = open(folder.path()).await;
        let calls: Vec<_> = (0..6).map(|caller| tokio::spawn(calls_until_closed(spool.clone(), caller))).collect();
        spool.close().await.unwrap();
        for call in calls {
            let ended = tokio::time::timeout(Duration::from_secs(60), call).await;
            ended.unwrap_or_else(|_| panic!("close {number} leaves a call without a reply")).unwrap();
        }
    }
}

async fn calls_until_closed(spool: Spool, caller: u32) {
    loop {
        let answer =
            if caller.is_multiple_of(2) { spool.sync().await } else { spool.append(write(caller)).await.map(drop) };
        match answer {
            Ok(()) | Err(SpoolError::Full { .. }) => {}
            Err(SpoolError::Closed) => return,
            Err(error) => panic!("{error}"),
        }
    }
}
