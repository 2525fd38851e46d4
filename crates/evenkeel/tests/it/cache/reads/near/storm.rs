//! One process writes, others read near: no reader serves an older value after its process received the notification of the
//! newer one.

use super::super::db::Db;
use super::super::rig::{Rig, Rows};
use super::{near, notified};
use evenkeel::Keel;
use evenkeel::cache::{Freshness, Tier};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use tokio::task::JoinSet;

on_both! {
    near_reads_never_go_back_behind_notifications
}

const WRITES: u64 = 400;
const READERS: usize = 4;
const KEYS: usize = 3;

/// The newest write of each key whose invalidation has been answered.
#[derive(Default)]
struct Invalidated([AtomicU64; KEYS]);

// shows: C1, hazard D12, cache::CacheBuilder::near
async fn near_reads_never_go_back_behind_notifications(rig: Rig) {
    let (db, invalidated) = (Db::new(), Arc::new(Invalidated::default()));
    let (over, served_near) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut readers = JoinSet::new();
    for _ in 0..2 {
        let keel = rig.process().await;
        let rows = near(&keel).await;
        for _ in 0..READERS {
            let story = read_on(keel.clone(), rows.clone(), db.clone(), Arc::clone(&invalidated));
            let (over, served_near) = (Arc::clone(&over), Arc::clone(&served_near));
            readers.spawn(async move {
                while over.load(SeqCst) == 0 {
                    served_near.fetch_add(story().await, SeqCst);
                    tokio::task::yield_now().await;
                }
            });
        }
    }
    let writer = near(&rig.process().await).await;
    for number in 1..=WRITES {
        let key = number % KEYS as u64;
        db.write(key, &number.to_string());
        writer.invalidate(&key).await.unwrap();
        invalidated.0[usize::try_from(key).unwrap()].store(number, SeqCst);
        tokio::task::yield_now().await;
    }
    over.store(1, SeqCst);
    while let Some(reader) = readers.join_next().await {
        reader.unwrap();
    }
    assert!(served_near.load(SeqCst) > 0, "the near caches had no part in it");
}

/// One round of a reader: a value whose invalidation had been received when a read began is not served. Returns how many
/// reads were served near.
fn read_on(
    keel: Keel,
    rows: Rows,
    db: Db,
    invalidated: Arc<Invalidated>,
) -> impl Fn() -> std::pin::Pin<Box<dyn Future<Output = usize> + Send>> {
    move || {
        let (keel, rows, db, invalidated) = (keel.clone(), rows.clone(), db.clone(), Arc::clone(&invalidated));
        Box::pin(async move {
            let mut near = 0;
            for key in 0..KEYS as u64 {
                let floor = invalidated.0[usize::try_from(key).unwrap()].load(SeqCst);
                notified(&keel).await;
                for _ in 0..3 {
                    let found = rows.get_with(&key, Freshness::Eventual, |key| db.find(*key)).await.unwrap();
                    let number = found.value.map_or(0, |row| row.parse::<u64>().unwrap());
                    assert!(number >= floor, "{:?} served {number} after {floor} was invalidated", found.tier);
                    near += usize::from(found.tier == Tier::Near);
                }
            }
            near
        })
    }
}
