//! Random hostile callers around a spool: they drop their calls, are aborted, panic with a handle, block their thread, and mark what is not
//! theirs. What was acknowledged stays until it is done, in this process and in later ones, and other callers are served.

use crate::robustness::Round;
use evenkeel::spool::{Fsync, PendingEffect, Spool, SpoolError, SpoolOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tokio::task::{JoinHandle, yield_now};

/// The topic of well-behaved callers, and that of hostile ones.
const TOPICS: [&str; 2] = ["steady", "hostile"];
/// Neither a segment nor the spool can hold it.
const TOO_LARGE: usize = 2 << 20;

/// What callers of a topic know.
#[derive(Debug, Default)]
struct Known {
    /// Acknowledged effects that are not marked as done, and their sequences.
    acknowledged: BTreeMap<u64, u64>,
    /// Effects whose call was dropped.
    dropped: BTreeSet<u64>,
}

/// An effect that its number determines.
fn effect(topic: &str, number: u64) -> PendingEffect {
    let body = number.to_string().repeat(usize::try_from(number % 20).unwrap());
    match number % 3 {
        0 => PendingEffect::delete(topic, number.to_string(), body),
        _ => PendingEffect::write(topic, number.to_string(), body),
    }
}

async fn open(dir: &Path, options: &SpoolOptions) -> Spool {
    loop {
        match Spool::open(dir, options.clone()).await {
            Ok(spool) => return spool,
            // The thread of the one before writes what is left.
            Err(SpoolError::InUse { .. }) => yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

pub(crate) async fn hostile(mut round: Round) {
    let folder = tempfile::tempdir().unwrap();
    let fsync = *round.one(&[Fsync::Always, Fsync::Never, Fsync::Every(Duration::from_millis(1))]);
    let segment_bytes = *round.one(&[256, 1_024, 65_536]);
    round.step(format!("{fsync:?}, segments of {segment_bytes} bytes"));
    let options = SpoolOptions::default().fsync(fsync).segment_bytes(segment_bytes).bytes_max(1 << 20);
    let (mut known, mut numbers, mut newest) = ([Known::default(), Known::default()], 0, 0);
    for _ in 0..round.number(2, 5) {
        let spool = open(folder.path(), &options).await;
        round.step("the spool is opened");
        check(&round, &spool, &known);
        let steady = [0, 1].map(|caller| steady(&spool, numbers + 1_000_000 * (1 + caller), round.number(5, 40)));
        for _ in 0..round.number(5, 40) {
            numbers += 1;
            misbehave(&mut round, &spool, numbers, &mut known[1]).await;
        }
        numbers += 100;
        for task in steady {
            known[0].acknowledged.extend(task.await.unwrap());
        }
        let sequence = spool.append(effect(TOPICS[1], numbers - 1)).await.unwrap();
        assert!(sequence > newest, "sequences rise over the lives of a spool: {sequence} after {newest}");
        round.misbehaves("later effects are marked as done");
        let later: Vec<u64> = (sequence..sequence + 50).collect();
        spool.done(&later);
        newest = spool.append(effect(TOPICS[1], numbers)).await.unwrap();
        known[1].acknowledged.insert(numbers, newest);
        spool.sync().await.unwrap();
        check(&round, &spool, &known);
        match round.number(0, 2) {
            0 => spool.close().await.unwrap(),
            1 => {
                round.misbehaves("close is dropped");
                begin(spool.close()).await;
            }
            _ => round.misbehaves("all handles are dropped"),
        }
    }
    check(&round, &open(folder.path(), &options).await, &known);
}

/// What was acknowledged is pending, and nothing is that no caller stored.
fn check(round: &Round, spool: &Spool, known: &[Known; 2]) {
    for (topic, known) in TOPICS.into_iter().zip(known) {
        let mut found = BTreeSet::new();
        for spooled in spool.pending(topic, usize::MAX) {
            let number: u64 = std::str::from_utf8(&spooled.effect.key).unwrap().parse().unwrap();
            assert_eq!(spooled.effect, effect(topic, number));
            assert!(found.insert(number), "{number} is pending twice");
            let sequence = known.acknowledged.get(&number);
            assert!(
                sequence == Some(&spooled.sequence) || known.dropped.contains(&number),
                "{spooled:?}: {sequence:?}"
            );
        }
        let missing: Vec<_> = known.acknowledged.keys().filter(|number| !found.contains(number)).collect();
        assert!(missing.is_empty(), "{missing:?} of the topic {topic} are not pending");
        round.checked(1 + known.acknowledged.len() as u64);
    }
}

/// Stores effects, and marks every second one as done; the result is what stays.
fn steady(spool: &Spool, first: u64, count: u64) -> JoinHandle<BTreeMap<u64, u64>> {
    let spool = spool.clone();
    tokio::spawn(async move {
        let mut stays = BTreeMap::new();
        for number in first..first + count {
            let sequence = spool.append(effect(TOPICS[0], number)).await.unwrap();
            if number % 2 == 0 {
                spool.done(&[sequence]);
            } else {
                stays.insert(number, sequence);
            }
            yield_now().await;
        }
        stays
    })
}

/// Polls a call once, and drops it.
async fn begin(call: impl Future) {
    let mut call = pin!(call);
    std::future::poll_fn(|context| {
        let _ = call.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}

async fn misbehave(round: &mut Round, spool: &Spool, number: u64, known: &mut Known) {
    let (behavior, append) = (round.number(0, 8), spool.append(effect(TOPICS[1], number)));
    round.misbehaves(format!("behavior {behavior} with number {number}"));
    match behavior {
        0 => {
            begin(append).await;
            known.dropped.insert(number);
        }
        1 => {
            let clone = spool.clone();
            let task = tokio::spawn(async move { clone.append(effect(TOPICS[1], number)).await });
            for _ in 0..round.number(0, 20) {
                yield_now().await;
            }
            task.abort();
            match task.await {
                Ok(sequence) => drop(known.acknowledged.insert(number, sequence.unwrap())),
                Err(_) => drop(known.dropped.insert(number)),
            }
        }
        2 => {
            let (clone, (acknowledge, sequence)) = (spool.clone(), tokio::sync::oneshot::channel());
            let task = tokio::spawn(async move {
                acknowledge.send(clone.append(effect(TOPICS[1], number)).await.unwrap()).unwrap();
                let _held = clone.pending(TOPICS[1], 1);
                panic!("on purpose")
            });
            known.acknowledged.insert(number, sequence.await.unwrap());
            assert!(task.await.is_err_and(|error| error.is_panic()));
        }
        3 => {
            // The call is on its way while the thread is blocked.
            let mut append = pin!(append);
            let first = std::future::poll_fn(|context| Poll::Ready(append.as_mut().poll(context))).await;
            let (_open, never) = std::sync::mpsc::channel::<()>();
            assert!(never.recv_timeout(Duration::from_millis(5)).is_err());
            let sequence = if let Poll::Ready(sequence) = first { sequence } else { append.await };
            known.acknowledged.insert(number, sequence.unwrap());
        }
        4 => {
            // Of no effect, and of one that is done already.
            let sequence = append.await.unwrap();
            spool.done(&[0, sequence, u64::MAX, sequence]);
            spool.done(&[]);
        }
        5 => begin(spool.sync()).await,
        6 => {
            let again = Spool::open(spool.dir(), SpoolOptions::default()).await.map(drop);
            round.result("open it again", again, |error| matches!(error, SpoolError::InUse { .. }));
        }
        7 => {
            let large = spool.append(PendingEffect::write(TOPICS[1], "large", vec![0; TOO_LARGE])).await;
            round.result("append an effect that is too large", large, |error| {
                matches!(error, SpoolError::TooLarge { .. })
            });
        }
        _ => drop(known.acknowledged.insert(number, append.await.unwrap())),
    }
}
