//! Messages and jobs of megabytes next to small ones: through units of work, the relay, a stream and the inbox of its
//! reader.

use super::rig::{Rig, Sql};
use evenkeel::Keel;
use evenkeel::codec::Raw;
use evenkeel::sql::sink::{Sinks, StreamSink};
use evenkeel::sql::{Message, Once, SqlError};
use std::cell::Cell;
use testkit::memory::Growth;
use testkit::park::redis;

on_each! {
    large_messages_do_not_block_small_units_of_work
}

const MIB: usize = 1 << 20;
const SIZES: [usize; 4] = [MIB, 2 * MIB, 8 * MIB, 20 * MIB];
/// What the process may take at its highest, in terms of all that is sent: a message, one with a key and a job of each size. The jobs stay, in
/// the embedded store, and so does what SQLite keeps in this process.
const COPIES_MAX: u64 = 6;

/// Sends `size` bytes as a message without a key, as one with a key, and as a job; returns whether the database accepts that
/// much.
async fn send<DB: Sql>(rig: &Rig<DB>, size: usize) -> bool {
    let bulk = rig.keel.queue("bulk").codec(Raw).body_bytes_max(32 * MIB).open().await.unwrap();
    let mut is_taken = true;
    for part in 0..3 {
        let body = bytes::Bytes::from(vec![7_u8; size]);
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        match part {
            0 => work.publish(Message::new("links", body)).unwrap(),
            1 => work.publish(Message::new("links", body).key("large")).unwrap(),
            _ => drop(work.enqueue(bulk.job(&body)).unwrap()),
        }
        match Box::pin(work.commit()).await {
            Ok(_) => {}
            // MariaDB says how much it takes.
            Err(SqlError::TooLarge { .. }) => is_taken = false,
            Err(error) => panic!("{size}: {error}"),
        }
    }
    is_taken
}

/// A unit of work with every kind of effect, and a message of another program that is processed once.
async fn small<DB: Sql>(rig: &Rig<DB>, number: u64) {
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

async fn large_messages_do_not_block_small_units_of_work<DB: Sql>(rig: Rig<DB>) {
    let shared = redis().await.unwrap();
    // A busy machine may take its time to copy them.
    let url = format!("{}?prefix={}&response_timeout_ms=15000", shared.url, shared.prefix);
    let stream = StreamSink::new(&Keel::connect(&url).await.unwrap());
    let growth = Growth::begin().unwrap();
    let is_over = Cell::new(false);
    let small_ones = async {
        let mut number = 0;
        while !is_over.get() {
            small(&rig, number).await;
            number += 1;
        }
        number
    };
    let large_ones = async {
        let mut taken = 0;
        for size in SIZES {
            taken += usize::from(send(&rig, size).await);
        }
        let relay = rig.keel.relay(&rig.pool).sinks(Sinks::to(stream.clone()));
        let mut after = None;
        let mut arrived = 0;
        while arrived < 2 * taken {
            DB::run(&mut rig.pool.acquire().await.unwrap(), "UPDATE evenkeel_outbox SET due_at = 1 WHERE state = 1")
                .await
                .ok();
            relay.run_once().await.unwrap();
            while let Some(entry) = stream.entries("links", after.as_deref(), 1).await.unwrap().pop() {
                assert!(entry.message.payload.len() >= MIB && entry.message.payload.iter().all(|byte| *byte == 7));
                take(&rig, "large", &entry.message.id).await;
                after = Some(entry.entry_id);
                arrived += 1;
            }
        }
        is_over.set(true);
    };
    let (small_ones, ()) = tokio::join!(small_ones, large_ones);
    assert!(small_ones > 0);
    assert_eq!(rig.works(4).await, 0, "nothing is parked");
    let (peak, all) = (growth.peak().unwrap(), 3 * SIZES.iter().sum::<usize>() as u64);
    assert!(peak <= COPIES_MAX * all, "{} MiB for {} MiB", peak >> 20, all >> 20);
}
