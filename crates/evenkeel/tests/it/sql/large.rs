//! Messages and jobs of megabytes next to small ones: through units of work, the relay, a stream and the inbox of its
//! reader.

use super::rig::{Rig, Sql};
use evenkeel::Keel;
use evenkeel::codec::Raw;
use evenkeel::sql::relay::operate::{Outbox, WorkState};
use evenkeel::sql::sink::{Sinks, StreamSink};
use evenkeel::sql::{Message, Once, SqlError};
use std::cell::Cell;
use testkit::memory::Growth;
use testkit::park::redis;

on_each! {
    large_messages_do_not_block_small_units_of_work
}

pub(super) const MIB: usize = 1 << 20;
const SIZES: [usize; 4] = [MIB, 2 * MIB, 8 * MIB, 20 * MIB];
/// What the process may take at its highest, in terms of all that is sent: a message, one with a key and a job of each size. The jobs stay, in
/// the embedded store, and so does what SQLite keeps in this process.
const COPIES_MAX: u64 = 6;

/// How many messages and jobs were accepted and refused, and how many small units of work were committed meanwhile.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) taken: usize,
    pub(super) refused: usize,
    pub(super) small: usize,
    /// Of those that were accepted.
    messages: usize,
}

/// Sends `size` bytes as a message without a key, as one with a key, and as a job, each in a unit of work of its own.
async fn send<DB: Sql>(rig: &Rig<DB>, size: usize, sent: &mut Sent) {
    let bulk = rig.keel.queue("bulk").codec(Raw).body_bytes_max(32 * MIB).open().await.unwrap();
    for part in 0..3 {
        let body = bytes::Bytes::from(vec![7_u8; size]);
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        match part {
            0 => work.publish(Message::new("links", body)).unwrap(),
            1 => work.publish(Message::new("links", body).key("large")).unwrap(),
            _ => drop(work.enqueue(bulk.job(&body)).unwrap()),
        }
        let id = work.id();
        match Box::pin(work.commit()).await {
            Ok(_) => {
                sent.taken += 1;
                sent.messages += usize::from(part < 2);
            }
            // MariaDB says how much it takes.
            Err(error @ SqlError::TooLarge { bytes, limit, .. }) => {
                assert!(bytes >= size as u64 && bytes + 4096 > limit, "{error}");
                let text = error.to_string();
                assert!(text.contains(&bytes.to_string()) && text.contains(&limit.to_string()), "{text}");
                let known = Outbox::new(&rig.pool).units(WorkState::Waiting, None, usize::MAX).await.unwrap();
                assert!(known.iter().all(|work| work.id != id), "nothing of it is in the outbox");
                sent.refused += 1;
            }
            Err(error) => panic!("{size}: {error}"),
        }
    }
}

/// A unit of work with every kind of effect, and a message of another program that is processed once.
async fn small<DB: Sql>(rig: &Rig<DB>, number: usize) {
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    work.invalidate(&rig.stock, &1).unwrap();
    work.enqueue(rig.mail.job(&"letter".to_owned())).unwrap();
    work.publish(Message::new("small", "").key(format!("k{}", number % 5))).unwrap();
    Box::pin(work.commit()).await.unwrap();
    take(rig, "small", &number.to_string()).await;
    assert_eq!(rig.cached_units().await, 10);
}

async fn take<DB: Sql>(rig: &Rig<DB>, group: &str, id: &str) {
    let mut transaction = rig.pool.begin().await.unwrap();
    let once = rig.keel.inbox(&rig.pool).once(&mut transaction, group, id).await.unwrap();
    assert_eq!(once, Once::Fresh, "{group} {id}");
    transaction.commit().await.unwrap();
}

/// Sends all of these sizes next to small units of work: everything that is accepted arrives once, in a stream of Redis.
pub(super) async fn large_and_small<DB: Sql>(rig: &Rig<DB>, sizes: &[usize]) -> Sent {
    let shared = redis().await.unwrap();
    // A busy machine may take its time to copy them.
    let url = format!("{}?prefix={}&response_timeout_ms=15000", shared.url, shared.prefix);
    let stream = StreamSink::new(&Keel::connect(&url).await.unwrap());
    let is_over = Cell::new(false);
    let small_ones = async {
        let mut number = 0;
        while !is_over.get() {
            small(rig, number).await;
            number += 1;
        }
        number
    };
    let large_ones = async {
        let mut sent = Sent::default();
        for size in sizes {
            send(rig, *size, &mut sent).await;
        }
        // Not before: right after its commit a large message would be sent by the unit of work, too, for longer than the second of that.
        let relay = rig.keel.relay(&rig.pool).sinks(Sinks::to(stream.clone()));
        let mut after = None;
        let mut arrived = 0;
        while arrived < sent.messages {
            DB::run(&mut rig.pool.acquire().await.unwrap(), "UPDATE evenkeel_outbox SET due_at = 1 WHERE state = 1")
                .await
                .ok();
            relay.run_once().await.unwrap();
            while let Some(entry) = stream.entries("links", after.as_deref(), 1).await.unwrap().pop() {
                let payload = &entry.message.payload;
                assert!(sizes.contains(&payload.len()) && payload.iter().all(|byte| *byte == 7));
                take(rig, "large", &entry.message.id).await;
                after = Some(entry.entry_id);
                arrived += 1;
            }
        }
        is_over.set(true);
        (sent, relay)
    };
    let (small, (sent, relay)) = tokio::join!(small_ones, large_ones);
    assert!(small > 0);
    while stream.entries("small", None, usize::MAX).await.unwrap().len() < small {
        relay.run_once().await.unwrap();
    }
    assert_eq!(rig.outbox_rows(4).await, 0, "nothing is parked");
    Sent { small, ..sent }
}

// shows: hazard A29
async fn large_messages_do_not_block_small_units_of_work<DB: Sql>(rig: Rig<DB>) {
    let growth = Growth::begin().unwrap();
    large_and_small(&rig, &SIZES).await;
    let (peak, all) = (growth.peak().unwrap(), 3 * SIZES.iter().sum::<usize>() as u64);
    assert!(peak <= COPIES_MAX * all, "{} MiB for {} MiB", peak >> 20, all >> 20);
}
