//! A stream that is registered in a database, and what the stories ask of it.

use crate::sql::databases::{TestDatabase, Tested};
use crate::stream::side::rig::{Desk, Orders, Rig, all_settled, open};
use evenkeel::Keel;
use evenkeel::sql::sink::Sinks;
use evenkeel::stream::admin::{Checkpoint, Peeked};
use evenkeel::stream::{Consumer, EntryId, OnFailure};
use std::sync::Arc;

/// A process with the stream, which is registered in the database.
pub(super) async fn process<DB: Tested>(rig: &Rig, database: &TestDatabase<DB>) -> (Keel, Orders) {
    let keel = rig.process().await;
    let orders = keel.stream("orders").partitions(2).sql(&database.pool).open().await.unwrap();
    (keel, orders)
}

/// Appends entries of a key, each by a unit of work of its own.
pub(super) async fn place<DB: Tested>(
    (keel, orders): &(Keel, Orders),
    database: &TestDatabase<DB>,
    key: &str,
    values: &[&str],
) {
    for value in values {
        let mut work = keel.begin(&database.pool).await.unwrap();
        work.append(orders.entry(key, &(*value).to_owned())).unwrap();
        work.commit().await.unwrap();
    }
}

/// Sends what the outbox has, until it has nothing that is due.
pub(super) async fn relay<DB: Tested>((keel, _): &(Keel, Orders), database: &TestDatabase<DB>) {
    let relay = keel.relay(&database.pool).sinks(Sinks::none().streams(keel));
    loop {
        while !relay.run_once().await.unwrap().is_idle() {}
        // Keys wait for a short time, by the clock of the database, after the stream was created again.
        if database.number("SELECT COUNT(*) FROM evenkeel_outbox_ordered").await == 0 {
            return;
        }
        database.run("UPDATE evenkeel_outbox_keys SET due_at = 0 WHERE due_at IS NOT NULL AND claim IS NULL").await;
    }
}

/// Removes everything that Redis has, except the clock of the test.
pub(super) async fn flush(rig: &Rig) {
    let prefix = rig.prefix();
    let clock = format!("{prefix}:test:now_ms");
    let keys = rig.command(b"", redis::cmd("KEYS").arg(format!("*{prefix}*"))).await;
    let keys: Vec<String> = redis::from_redis_value(keys).unwrap();
    for key in keys.iter().filter(|key| **key != clock) {
        rig.command(key.as_bytes(), redis::cmd("DEL").arg(key)).await;
    }
}

pub(super) fn consumer(desk: &Arc<Desk>, orders: &Orders, group: &str) -> Consumer<String, String> {
    desk.consumer(orders.group(group).per_key(OnFailure::BlockKey))
}

pub(super) async fn until<F: Future<Output = bool>>(rig: &Rig, mut is_so: impl FnMut() -> F) {
    let wait = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    rig.while_time_passes(wait).await;
}

/// The entries that the group has not settled, as its consumers have stored it.
pub(super) async fn unsettled(orders: &Orders, group: &str) -> u64 {
    checkpoints(orders, group).await.iter().map(|checkpoint| checkpoint.unsettled).sum()
}

pub(super) async fn kept(orders: &Orders) -> u64 {
    orders.admin().kept_entries().await.unwrap()
}

/// Handles everything that is unread, until no entry is kept.
pub(super) async fn handle_all(rig: &Rig, orders: &Orders) -> Vec<String> {
    let desk = Desk::new();
    let office = open(consumer(&desk, orders, "billing"));
    let mut handled = Vec::new();
    let done = async {
        loop {
            handled.push(desk.done().await);
        }
    };
    tokio::select! {
        () = done => {}
        () = until(rig, || async { kept(orders).await == 0 && unsettled(orders, "billing").await == 0 }) => {}
    }
    all_settled(orders).await;
    office.close().await;
    handled
}

pub(super) async fn checkpoints(orders: &Orders, group: &str) -> Vec<Checkpoint> {
    let all = orders.admin().checkpoints().await.unwrap();
    all.into_iter().filter(|checkpoint| checkpoint.group == group).collect()
}

pub(super) fn entries(all: &[Checkpoint]) -> Vec<EntryId> {
    all.iter().map(|checkpoint| checkpoint.entry).collect()
}

pub(super) async fn log(orders: &Orders) -> Vec<Peeked> {
    let mut all = Vec::new();
    for partition in 0..2 {
        all.extend(orders.admin().peek(partition, EntryId::MIN, 100).await.unwrap());
    }
    all
}

pub(super) async fn values(orders: &Orders) -> Vec<String> {
    let entries = log(orders).await.into_iter();
    entries.map(|entry| serde_json::from_slice(&entry.value.unwrap()).unwrap()).collect()
}
