//! Random misuse of streams: settings of streams, entries, groups and consumers at their extremes in any combination, hostile handlers next to
//! entries that must be handled, and values of any size.

use super::extremes::{Change, Settings, changes, settings, spans};
use super::hostile::{Behavior, TABLE, behave};
use super::large::{LARGE, all_arrive};
use super::rig::{Desk, Orders, Rig, all_settled, append, letters, open, reason};
use crate::blocks::{block_again, unblock};
use crate::robustness::Round;
use evenkeel::stream::{Entry, Reaction, RetryDelay, Stream, StreamError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

async fn rig(round: &Round) -> Rig {
    if round.is_on_redis() { Rig::redis().await } else { Rig::memory() }
}

fn is_refusal(error: &StreamError) -> bool {
    use StreamError::{Full, Invalid, Settings, TooLarge};
    matches!(error, Settings { .. } | Invalid(_) | TooLarge { .. } | Full { .. })
}

/// Streams with up to four settings drawn from the table of extremes, then entries and a consumer with extreme parameters.
pub(crate) async fn extremes(mut round: Round) {
    let rig = rig(&round).await;
    let keel = rig.process().await;
    let settings: Vec<(String, Settings)> = settings();
    let changes: Vec<(String, Change)> = changes();
    for number in 0..6 {
        let (builder, what) = round.change(keel.stream(&format!("stream-{number}")), &settings, 1..=4);
        let opened = builder.open().await;
        let Some(stream) = round.result(format!("open {what}"), opened, is_refusal) else { continue };
        for _ in 0..16 {
            entry(&mut round, &stream, &changes).await;
        }
        consume(&mut round, &rig, &stream).await;
    }
    // A stream next to them is served.
    let (desk, orders) = (Desk::new(), rig.orders(1).await);
    append(&orders, "a", &["fine"]).await;
    let office = open(desk.consumer(orders.group("billing")));
    assert_eq!(desk.done().await, "fine");
    office.close().await;
    round.checked(1);
}

async fn entry(round: &mut Round, stream: &Orders, changes: &[(String, Change)]) {
    let size = *round.one(&[0, 1, 512, 513, 1 << 20]);
    let value = "x".to_owned();
    let (entry, what) = round.change(stream.entry(vec![b'k'; size], &value), changes, 0..=3);
    let appended = entry.append().await;
    round.result(format!("append with a key of {size}, {what}"), appended, is_refusal);
}

/// The consumer refuses its settings, or handles the next entry and ends.
async fn consume(round: &mut Round, rig: &Rig, stream: &Orders) {
    let (lease, delay) = (*round.one(&spans()), *round.one(&spans()));
    let (drain, fill) = (*round.one(&spans()), *round.one(&spans()));
    let (retries, crashes) = (*round.one(&[0, 1, u16::MAX - 1]), *round.one(&[0, 1, u8::MAX]));
    let mut group = stream.group("billing").retries(retries).crashes_max(crashes);
    if round.chance(50) {
        group = group.lease(lease);
    }
    if round.chance(50) {
        group = group.retry_delay(RetryDelay::exponential(delay, delay));
    }
    let call =
        format!("consume: lease {lease:?}, delay {delay:?}, drain {drain:?}, fill {fill:?}, {retries}, {crashes}");
    let desk = Desk::new();
    let mut office = open(desk.consumer(group).drain(drain).fill(fill));
    let sent = stream.append("fine", &"fine".to_owned()).await;
    let is_sent = round.result("append a fine entry", sent, is_refusal).is_some();
    loop {
        if !is_sent {
            break;
        }
        tokio::select! {
            case = desk.next() => {
                let is_fine = case.entry.value == "fine";
                case.done();
                if is_fine {
                    round.checked(1);
                    break;
                }
            }
            () = office.ended() => {
                round.result(call, office.result().await, is_refusal);
                return;
            }
        }
    }
    let serves = async {
        loop {
            desk.done().await;
        }
    };
    office.stop();
    let closed = rig.while_time_passes(office.result());
    tokio::select! {
        closed = closed => drop(round.result(call, closed, is_refusal)),
        () = serves => {}
    }
}

/// Hostile and well-behaved entries in any order, unordered, so that they run next to each other.
pub(crate) async fn hostile(mut round: Round) {
    let rig = rig(&round).await;
    block_again();
    let partitions = u16::try_from(round.number(1, 3)).unwrap();
    let stream: Stream<Behavior> = rig.process().await.stream("orders").partitions(partitions).open().await.unwrap();
    let texts: Orders = rig.orders(partitions).await;
    let mut sent = Vec::new();
    for number in 0..round.number(10, 60) {
        let row = if round.chance(50) { TABLE[0] } else { *round.one(&TABLE) };
        let key = format!("{number}");
        texts.append(key.as_str(), &row.0.to_owned()).await.unwrap();
        if row.0 == "fine" {
            round.step(row.0);
        } else {
            round.misbehaves(row.0);
        }
        sent.push((row, key));
    }
    let runs = Arc::new(Mutex::new(BTreeMap::<Vec<u8>, u32>::new()));
    let seen = Arc::clone(&runs);
    let consumer = stream.group("billing").unordered().retries(0).handle(move |entry: Entry<Behavior>| {
        *seen.lock().unwrap().entry(entry.key.to_vec()).or_default() += 1;
        if entry.value.0 == "handler panics at once" {
            panic!("handler panics at once");
        }
        behave(entry)
    });
    let limit = Duration::from_secs(30);
    let consumer = consumer.concurrency(100).drain(Duration::from_secs(1)).handler_timeout(limit).on_error(|error| {
        assert_ne!(error.0, "on_error panics", "on purpose");
        Reaction::Retry
    });
    let office = open(consumer);
    let hanging = sent.iter().filter(|((behavior, _), _)| *behavior == "handler hangs").count();
    let dead = sent.iter().filter(|((_, reason), _)| !reason.is_empty()).count();
    let decoded = sent.iter().filter(|((behavior, _), _)| *behavior != "decode panics").count();
    // All but those that hang.
    while letters(&texts).await.len() + hanging < dead || runs.lock().unwrap().len() < decoded {
        tokio::task::yield_now().await;
    }
    unblock();
    while super::rig::billing(&texts).await.pending() != hanging as u64 {
        tokio::task::yield_now().await;
    }
    rig.while_time_passes(all_settled(&texts)).await;
    rig.while_time_passes(office.close()).await;
    let letters = letters(&texts).await;
    assert_eq!(letters.len(), dead);
    for ((behavior, expected), key) in &sent {
        let letter = letters.iter().find(|letter| letter.key == key.as_bytes()).map(reason);
        match &letter {
            None => assert_eq!(*expected, "", "{behavior} is no dead letter"),
            Some(reason) => assert!(!expected.is_empty() && reason.contains(expected), "{behavior}: {reason}"),
        }
        let is_decoded = *behavior != "decode panics";
        assert_eq!(runs.lock().unwrap().get(key.as_bytes()).copied(), is_decoded.then_some(1), "{behavior}");
        round.checked(1);
    }
}

/// Values of many sizes, appended and handled next to small ones of another stream.
pub(crate) async fn sizes(mut round: Round) {
    let rig = rig(&round).await;
    let mut sizes = Vec::new();
    while sizes.iter().sum::<usize>() < 40 * LARGE {
        sizes.push(usize::try_from(round.number(LARGE as u64 / 10, LARGE as u64)).unwrap());
    }
    let smalls = usize::try_from(round.number(1, 300)).unwrap();
    let count = sizes.len() + smalls;
    round.misbehaves(format!("{sizes:?}, next to {smalls} small ones"));
    all_arrive(&rig, sizes, smalls).await;
    round.checked(count as u64);
}
