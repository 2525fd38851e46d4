//! When a reader may accept another reader's load: never, if the load may miss an invalidation that was acknowledged before
//! the reader began. In each story a load has read the old row; another process writes, and its invalidation is
//! acknowledged; two readers (one of them a batch) begin after that and join the load; and the fill proves nothing about the
//! reader's own time.

use crate::cache::reads::db::Db;
use crate::cache::reads::rig::{Rig, Rows, get, in_time, no_answer, reader, row, some};
use evenkeel::cache::{Freshness, Invalidated, Source};
use evenkeel::testing::{Side, Step, StepGate};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

on_both! {
    read_after_invalidation_rejects_load_past_the_store
    read_after_invalidation_rejects_load_with_dropped_fill
    read_after_invalidation_rejects_load_stored_before_it
    readers_that_rejected_a_load_share_the_next
    at_most_two_loads_of_a_key_run_in_a_process
    reader_that_rejects_replica_load_reads_the_primary
}

/// A load of one process that has read the old row.
struct Scene {
    gate: StepGate,
    rows: Rows,
    writing: Rows,
    db: Db,
}

type Reader = JoinHandle<Option<String>>;

impl Scene {
    async fn new(rig: &Rig) -> Self {
        let gate = StepGate::default();
        let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
        Self { gate, rows, writing: rig.rows().await, db: Db::with("old") }
    }

    /// A commit whose invalidation another process has had acknowledged.
    async fn write_elsewhere(&self) {
        self.db.write(1, "new");
        assert_eq!(self.writing.invalidate(&1).await.unwrap(), Invalidated::Done);
    }

    /// A reader and a batch that ask no store and join the load.
    async fn join(&self) -> [Reader; 2] {
        let (rows, db) = (self.rows.clone(), self.db.clone());
        let single = async move { get(&rows, &db).await };
        let (rows, db) = (self.rows.clone(), self.db.clone());
        let batch = async move {
            let found = rows.get_many(&[1], |missing| db.find_many(missing)).await.unwrap();
            found[&1].as_deref().cloned()
        };
        [start(single).await, start(batch).await]
    }
}

async fn start(read: impl Future<Output = Option<String>> + Send + 'static) -> Reader {
    let reader = tokio::spawn(read);
    settle().await;
    reader
}

/// Lets every ready task run; all of them run on this thread.
async fn settle() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}

async fn see_the_new_row(readers: [Reader; 2]) {
    for reader in readers {
        assert_eq!(reader.await.unwrap(), some("new"));
    }
}

// shows: C1, hazard A31, cache::Freshness::Eventual
async fn read_after_invalidation_rejects_load_past_the_store(rig: Rig) {
    let scene = Scene::new(&rig).await;
    scene.rows.bypass_reads(true);
    let (mut load, before) = (scene.db.hold(), reader(&scene.rows, &scene.db));
    load.reached().await;
    scene.write_elsewhere().await;
    let after = scene.join().await;
    load.release();
    row(before).await;
    see_the_new_row(after).await;
}

/// What happens between the load and the readers that join it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    OverBudget,
    TooLarge,
    FillsBypassed,
    OtherSchema,
    Deleted,
    NextEpoch,
}

// shows: hazard A31, cache::Freshness::Eventual
async fn read_after_invalidation_rejects_load_with_dropped_fill(rig: Rig) {
    use Between::*;
    for between in [OverBudget, TooLarge, FillsBypassed, OtherSchema, Deleted, NextEpoch] {
        rig.evict(1).await;
        let gate = StepGate::default();
        let bytes_max = if between == TooLarge { 3 } else { 100 };
        let rows = rig.rows_with(|builder| builder.value_bytes_max(bytes_max).gate(&gate)).await;
        let scene = Scene { gate, rows, writing: rig.rows().await, db: Db::with("old") };
        let other = rig.rows_with(|builder| builder.schema(1)).await;
        if between == OtherSchema {
            get(&other, &scene.db).await;
        }
        let (mut load, before) = (scene.db.hold(), reader(&scene.rows, &scene.db));
        load.reached().await;
        scene.write_elsewhere().await;
        match between {
            OverBudget => rig.advance(Duration::from_millis(1_600)).await,
            FillsBypassed => scene.rows.bypass_fills(true),
            Deleted => rig.evict(1).await,
            NextEpoch => scene.gate.next_epoch(),
            TooLarge | OtherSchema => {}
        }
        let after = scene.join().await;
        load.release();
        assert_eq!(row(before).await, some("old"), "{between:?}");
        for reader in after {
            assert_eq!(reader.await.unwrap(), some("new"), "{between:?}");
        }
    }
}

/// The store has accepted the old row, and its reply is on its way when another process writes: what was stored proves nothing to a reader
/// that began after the fill was sent.
// shows: hazard A31
async fn read_after_invalidation_rejects_load_stored_before_it(rig: Rig) {
    let scene = Scene::new(&rig).await;
    let (mut fill, before) = (scene.gate.hold(Step::Fill, Side::BeforeAnswer), reader(&scene.rows, &scene.db));
    fill.reached().await;
    scene.write_elsewhere().await;
    // The readers ask no store, so that they have joined before the reply arrives.
    scene.rows.bypass_reads(true);
    let after = scene.join().await;
    fill.release();
    assert_eq!(row(before).await, some("old"));
    see_the_new_row(after).await;
}

/// On its own server, because the commands affect all its clients.
// shows: hazard A31, cache::Freshness::Eventual
#[tokio::test]
async fn read_after_invalidation_rejects_load_across_flush() {
    for words in [&["FLUSHALL"][..], &["CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "YES"]] {
        in_time(async {
            let rig = Rig::own_redis().await;
            let scene = Scene::new(&rig).await;
            let (mut load, before) = (scene.db.hold(), reader(&scene.rows, &scene.db));
            load.reached().await;
            scene.write_elsewhere().await;
            rig.operate(words).await;
            let after = scene.join().await;
            load.release();
            assert_eq!(row(before).await, some("old"), "{words:?}");
            rig.while_time_passes(see_the_new_row(after)).await;
        })
        .await;
    }
}

/// However often the key is invalidated, the second load began after all rejected readers.
// shows: C1, hazard A31
async fn readers_that_rejected_a_load_share_the_next(rig: Rig) {
    let scene = Scene::new(&rig).await;
    scene.rows.bypass_reads(true);
    let (mut first, _before) = (scene.db.hold(), reader(&scene.rows, &scene.db));
    first.reached().await;
    scene.write_elsewhere().await;
    let [single, batch] = scene.join().await;
    let mut second = scene.db.hold();
    first.release();
    second.reached().await;
    let third = scene.db.hold();
    second.release();
    // The second load began after both readers, so neither needs the third.
    see_the_new_row([single, batch]).await;
    drop(third);
    assert_eq!(scene.db.loads(), 2);
}

/// After an invalidation no reader joins the loads in progress; however often that happens, no third load of the key is
/// begun.
// shows: C3, hazard A31
async fn at_most_two_loads_of_a_key_run_in_a_process(rig: Rig) {
    let scene = Scene::new(&rig).await;
    let held: Vec<_> = (0..2).map(|_| scene.db.hold()).collect();
    let mut readers = Vec::new();
    for number in 0..6 {
        let mut looked = scene.gate.hold(Step::Read, Side::BeforeAnswer);
        readers.push(reader(&scene.rows, &scene.db));
        looked.reached().await;
        looked.release();
        scene.db.until_loads(number.min(1) + 1).await;
        scene.rows.invalidate(&1).await.unwrap();
    }
    settle().await;
    assert_eq!((scene.db.loads(), scene.db.peak()), (2, 2));
    scene.db.write(1, "new");
    for mut load in held {
        load.reached().await;
        load.release();
    }
    for (number, reader) in readers.into_iter().enumerate() {
        let expected = if number < 2 { "old" } else { "new" };
        assert_eq!(row(reader).await, some(expected), "reader {number}");
    }
    assert_eq!(scene.db.peak(), 2);
}

/// Without the store a load reads a replica, and that proves freshness to its own reader only.
// shows: hazard A31
async fn reader_that_rejects_replica_load_reads_the_primary(rig: Rig) {
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate).reads_replicas(Duration::from_secs(5))).await;
    let (db, from_primary) = (Db::with("old"), Arc::new(AtomicUsize::new(0)));
    let read = || {
        let (rows, db, from_primary) = (rows.clone(), db.clone(), Arc::clone(&from_primary));
        tokio::spawn(async move {
            let load = move |source| {
                from_primary.fetch_add(usize::from(source == Source::Primary), Ordering::SeqCst);
                db.find(1)
            };
            rows.get_from(&1, Freshness::Eventual, load).await.unwrap().value.as_deref().cloned()
        })
    };
    let mut load = db.hold();
    let mut readers = Vec::new();
    for number in 0..3 {
        let mut looks = gate.hold(Step::Read, Side::BeforeSend);
        readers.push(read());
        looks.reached().await;
        looks.fail(no_answer());
        if number == 0 {
            load.reached().await;
        }
        settle().await;
    }
    assert_eq!(from_primary.load(Ordering::SeqCst), 0);
    load.release();
    for reader in readers {
        assert_eq!(reader.await.unwrap(), some("old"));
    }
    assert_eq!((db.loads(), from_primary.load(Ordering::SeqCst)), (2, 1));
}
