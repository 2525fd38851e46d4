//! User code inside of a unit of work panics: the transaction is rolled back or keeps its other effects, and its connection returns.

use crate::sql::rig::{Rig, Sql};
use evenkeel::cache::{Cache, CacheKey, KeyWriter};
use evenkeel::queue::{JobId, Queue};
use evenkeel::sql::{Effects, Message};
use evenkeel::stream::Stream;
use futures_util::FutureExt;
use serde::{Deserialize, Serialize, Serializer};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

on_each! {
    panic_in_user_code_rolls_the_unit_of_work_back
    panic_in_an_encoder_leaves_the_other_effects
    panic_in_an_encoder_leaves_a_joined_transaction
}

/// A value that panics when it is encoded, with this word.
#[derive(Deserialize)]
struct Hostile(String);

impl Serialize for Hostile {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        assert_ne!(self.0, "encode panics", "on purpose");
        self.0.serialize(to)
    }
}

/// A key that panics when it is written.
struct Key;

impl CacheKey for Key {
    fn write(&self, _: &mut KeyWriter) {
        panic!("on purpose")
    }
}

struct Targets {
    letters: Queue<Hostile>,
    orders: Stream<Hostile>,
    keyed: Cache<Key, String>,
    bad: Hostile,
}

async fn targets<DB: Sql>(rig: &Rig<DB>) -> Targets {
    Targets {
        letters: rig.keel.queue("letters").open().await.unwrap(),
        orders: rig.keel.stream("orders").open().await.unwrap(),
        keyed: rig.keel.cache("keyed").ttl(Duration::from_secs(60)).open().await.unwrap(),
        bad: Hostile("encode panics".to_owned()),
    }
}

/// Calls each effect with a value that panics, and catches it.
fn panic_each(effects: &mut Effects, Targets { letters, orders, keyed, bad }: &Targets) {
    let mut panics = |call: &mut dyn FnMut(&mut Effects)| {
        assert!(catch_unwind(AssertUnwindSafe(|| call(effects))).is_err(), "it is the caller's");
    };
    panics(&mut |effects: &mut Effects| drop(effects.enqueue(letters.job(bad))));
    panics(&mut |effects: &mut Effects| drop(effects.reschedule(letters.job(bad).id("a"))));
    panics(&mut |effects: &mut Effects| drop(effects.append(orders.entry("a", bad))));
    panics(&mut |effects: &mut Effects| drop(effects.invalidate(keyed, &Key)));
    panics(&mut |effects: &mut Effects| drop(effects.purge(keyed, &Key)));
}

// shows: hazard A2
async fn panic_in_user_code_rolls_the_unit_of_work_back<DB: Sql>(rig: Rig<DB>) {
    let targets = targets(&rig).await;
    assert_eq!(rig.cached_units().await, 10);
    for _ in 0..12 {
        let job = JobId::named(b"of a rolled back unit of work");
        let handler = async {
            let mut work = rig.keel.begin(&rig.pool).await.unwrap();
            DB::run(work.tx(), "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
            work.publish(Message::new("orders", "sold")).unwrap();
            work.enqueue(targets.letters.job(&Hostile("fine".to_owned())).raw_id(job)).unwrap();
            work.enqueue(targets.letters.job(&targets.bad)).map(drop)
        };
        assert!(AssertUnwindSafe(handler).catch_unwind().await.is_err());
        // With eight connections, the twelfth attempt needs one that an earlier one had.
        assert_eq!(rig.units().await, 10);
        assert!(targets.letters.find(&job).await.unwrap().is_none());
    }
    assert_eq!(rig.number("SELECT COUNT(*) FROM evenkeel_outbox").await, 0);
    assert_eq!(rig.cached_units().await, 10);
}

// shows: hazard A2
async fn panic_in_an_encoder_leaves_the_other_effects<DB: Sql>(rig: Rig<DB>) {
    let targets = targets(&rig).await;
    assert_eq!(rig.cached_units().await, 10);
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    DB::run(work.tx(), "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
    work.invalidate(&rig.stock, &1).unwrap();
    panic_each(&mut work, &targets);
    let job = work.enqueue(rig.mail.job(&"sold".to_owned())).unwrap();
    assert!(work.commit().await.unwrap().carried_out);
    assert_eq!(rig.cached_units().await, 9);
    assert!(rig.mail.find(&job).await.unwrap().is_some());
    assert_eq!(targets.letters.topic().stats().await.unwrap().total.waiting(), 0);
}

// shows: hazard A2
async fn panic_in_an_encoder_leaves_a_joined_transaction<DB: Sql>(rig: Rig<DB>) {
    let targets = targets(&rig).await;
    let mut transaction = rig.pool.begin().await.unwrap();
    let mut joined = rig.keel.join(&mut transaction).await.unwrap();
    panic_each(&mut joined, &targets);
    let job = joined.enqueue(rig.mail.job(&"sold".to_owned())).unwrap();
    let sealed = joined.seal(&mut transaction).await.unwrap();
    transaction.commit().await.unwrap();
    sealed.carry_out(&rig.pool).await.unwrap();
    assert!(rig.mail.find(&job).await.unwrap().is_some());
    assert_eq!(targets.letters.topic().stats().await.unwrap().total.waiting(), 0);
}
