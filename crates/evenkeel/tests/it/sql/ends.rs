//! The last handles of a keel and of its pool are dropped: tasks, descriptors and the connections of the database are as many as before.
//! The pool is dropped and not closed, so that a task or a handle that keeps a clone of it is noticed.

use super::rig::{Sql, pool};
use crate::in_time;
use crate::resources::ends::{at_rest, server, until_held};
use evenkeel::Keel;
use evenkeel::lock::{AdvisoryDatabase, LockTerms, Wait};
use evenkeel::queue::Delivery;
use evenkeel::sql::sink::{Sinks, StreamSink};
use evenkeel::sql::{Message, migrate};
use evenkeel::stream::Entry;
use futures_util::FutureExt;
use sqlx::{Connection, MySql, Pool, Postgres, Sqlite};
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use testkit::eventually;
use testkit::servers::Redis;
use tokio::sync::Notify;

/// Each use on a database, with the embedded store and with Redis.
macro_rules! on {
    ($database:ident, $sql:ty: $($story:ident)+) => {
        mod $database {
            $(#[tokio::test]
            async fn $story() {
                super::all_is_given_back::<$sql, _>(super::$story).await;
            })+
        }
    };
}

macro_rules! on_each_one {
    ($($story:ident)+) => {
        on! { sqlite, sqlx::Sqlite: $($story)+ }
        on! { mariadb, sqlx::MySql: $($story)+ }
        on! { postgres, sqlx::Postgres: $($story)+ }
    };
}

on_each_one! {
    dropped_units_of_work_free_everything
    dropped_relays_free_everything
    dropped_inbox_frees_everything
    dropped_row_locks_free_everything
    dropped_queue_with_rows_frees_everything
    dropped_stream_with_checkpoints_frees_everything
}

// shows: hazard AL1
#[tokio::test]
async fn dropped_advisory_locks_free_everything_on_mariadb() {
    all_is_given_back::<MySql, _>(dropped_advisory_locks_free_everything).await;
}

// shows: hazard AL1
#[tokio::test]
async fn dropped_advisory_locks_free_everything_on_postgres() {
    all_is_given_back::<Postgres, _>(dropped_advisory_locks_free_everything).await;
}

/// How a database counts the connections of this test.
trait Counted: Sql {
    /// The connections to the present database; `None`: it is a file, and only descriptors count.
    const CONNECTIONS: Option<&'static str>;
}

impl Counted for Sqlite {
    const CONNECTIONS: Option<&'static str> = None;
}

impl Counted for MySql {
    const CONNECTIONS: Option<&'static str> =
        Some("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE db = DATABASE()");
}

impl Counted for Postgres {
    const CONNECTIONS: Option<&'static str> = Some(
        "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'",
    );
}

/// Runs the story on the embedded store and on Redis.
async fn all_is_given_back<DB: Counted, F: Future<Output = ()>>(story: impl Fn(Keel, Pool<DB>) -> F) {
    in_time(Box::pin(async {
        let database = DB::fresh().await;
        let pool_of_the_test = pool::<DB>(&database.url, 1).await;
        migrate(&pool_of_the_test).await.unwrap();
        pool_of_the_test.close().await;
        let redis = server().await;
        let mut watcher = DB::Connection::connect(&database.url).await.unwrap();
        let before = at_rest().await;
        for redis in [None, Some(&redis)] {
            story(open(redis).await, pool::<DB>(&database.url, 4).await).await;
            until_held(before, redis).await;
            until_closed::<DB>(&mut watcher).await;
        }
    }))
    .await;
}

/// Waits until the database has no connection but the watcher's.
async fn until_closed<DB: Counted>(watcher: &mut DB::Connection) {
    while connections::<DB>(watcher).await != 0 {
        tokio::task::yield_now().await;
    }
}

async fn connections<DB: Counted>(watcher: &mut DB::Connection) -> i64 {
    match DB::CONNECTIONS {
        // Without its own.
        Some(query) => DB::number(watcher, query).await.unwrap().unwrap() - 1,
        None => 0,
    }
}

async fn open(redis: Option<&Redis>) -> Keel {
    match redis {
        Some(redis) => Keel::connect(&redis.url()).await.unwrap(),
        None => Keel::memory(),
    }
}

/// One is committed, one rolled back, one dropped, one left in the middle of its commit.
// shows: hazard AL1
async fn dropped_units_of_work_free_everything<DB: Sql>(keel: Keel, pool: Pool<DB>) {
    let mail = keel.queue::<String>("mail").open().await.unwrap();
    keel.publish_to(&Sinks::to(StreamSink::new(&keel)));
    let begin = async || {
        let mut work = keel.begin(&pool).await.unwrap();
        work.publish(Message::new("orders", "sold")).unwrap();
        work.publish(Message::new("orders", "sold").key("order/7")).unwrap();
        work.enqueue(mail.job(&"sold".to_owned())).unwrap();
        work
    };
    begin().await.commit().await.unwrap();
    begin().await.rollback().await.unwrap();
    drop(begin().await);
    let mut transaction = pool.begin().await.unwrap();
    let mut joined = keel.join(&mut transaction).await.unwrap();
    joined.enqueue(mail.job(&"sold".to_owned())).unwrap();
    let sealed = joined.seal(&mut transaction).await.unwrap();
    transaction.commit().await.unwrap();
    // No relay runs, so the effects stay in the outbox.
    drop(sealed);
    // Dropped after one poll, almost always before the database has replied.
    let _half_done = begin().await.commit().now_or_never();
}

/// One ends, one is dropped while it runs, one never runs; the last handle of the keel is a relay.
// shows: hazard AL1
async fn dropped_relays_free_everything<DB: Sql>(keel: Keel, pool: Pool<DB>) {
    let relay = || keel.relay(&pool).sinks(Sinks::to(StreamSink::new(&keel)).streams(&keel));
    let orders = keel.stream::<String>("orders").open().await.unwrap();
    relay()
        .run(async {
            let mut work = keel.begin(&pool).await.unwrap();
            work.publish(Message::new("orders", "sold").key("order/7")).unwrap();
            work.append(orders.entry("order/7", &"sold".to_owned())).unwrap();
            work.commit().await.unwrap();
            eventually("the entry is appended", async || {
                (!orders.admin().peek(0, evenkeel::stream::EntryId::MIN, 1).await.ok()?.is_empty()).then_some(())
            })
            .await
            .unwrap();
        })
        .await;
    let running = relay();
    assert!(tokio::time::timeout(Duration::from_millis(50), running.run(pending())).await.is_err());
    let never_ran = relay();
    drop((keel, pool, orders));
    assert!(never_ran.run_once().await.is_ok());
}

// shows: hazard AL1
async fn dropped_inbox_frees_everything<DB: Sql>(keel: Keel, pool: Pool<DB>) {
    let inbox = keel.inbox(&pool);
    let mut transaction = pool.begin().await.unwrap();
    inbox.once(&mut transaction, "group", "payment/7").await.unwrap();
    transaction.commit().await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    // Dropped after one poll, almost always before the database has replied.
    let _half_done = inbox.once(&mut transaction, "group", "payment/8").now_or_never();
    drop(transaction);
    inbox.run(async {}).await;
    assert!(tokio::time::timeout(Duration::from_millis(20), inbox.run(pending())).await.is_err());
}

// shows: hazard AL1
async fn dropped_row_locks_free_everything<DB: Sql>(keel: Keel, pool: Pool<DB>) {
    let locks = keel.row_locks(&pool);
    drop(locks.lock("stock/42").acquire().await.unwrap());
    locks.lock("stock/42").acquire().await.unwrap().release().await.unwrap();
    let _held = locks.lock("stock/42").acquire().await.unwrap();
    let waiting = locks.lock("stock/42").wait(Wait::Forever).acquire();
    assert!(tokio::time::timeout(Duration::from_millis(20), waiting).await.is_err());
}

async fn dropped_advisory_locks_free_everything<DB: AdvisoryDatabase>(keel: Keel, pool: Pool<DB>) {
    let locks = keel.advisory_locks(&pool);
    let terms = LockTerms::default();
    assert!(locks.acquire("released", &terms).await.unwrap().release().await.is_ok());
    drop(locks.acquire("dropped", &terms).await.unwrap());
    let _held = locks.acquire("held", &terms).await.unwrap();
    assert!(locks.try_acquire("held", &terms).await.unwrap().is_none());
    let waiting = locks.acquire("held", &terms);
    assert!(tokio::time::timeout(Duration::from_millis(50), waiting).await.is_err());
    drop(keel);
}

// shows: hazard AL1
async fn dropped_queue_with_rows_frees_everything<DB: Sql>(keel: Keel, pool: Pool<DB>) {
    let mail = keel.queue::<String>("mail").sql(&pool).open().await.unwrap();
    let handled = Arc::new(Notify::new());
    let notify = Arc::clone(&handled);
    let consumer = mail.consume(move |_: Delivery<String>| {
        notify.notify_one();
        async { Ok::<_, Infallible>(()) }
    });
    let mut work = keel.begin(&pool).await.unwrap();
    work.enqueue(mail.job(&"sold".to_owned())).unwrap();
    work.commit().await.unwrap();
    consumer.run(handled.notified()).await.unwrap();
    let dropped = mail.consume(|_: Delivery<String>| async { Ok::<_, Infallible>(()) });
    assert!(tokio::time::timeout(Duration::from_millis(20), dropped.run(pending())).await.is_err());
}

// shows: hazard AL1
async fn dropped_stream_with_checkpoints_frees_everything<DB: Sql>(keel: Keel, pool: Pool<DB>) {
    let orders = keel.stream::<String>("orders").sql(&pool).open().await.unwrap();
    orders.append("a", &"placed".to_owned()).await.unwrap();
    let handled = Arc::new(Notify::new());
    let notify = Arc::clone(&handled);
    let consumer = orders.group("billing").handle(move |_: Entry<String>| {
        notify.notify_one();
        async { Ok::<_, Infallible>(()) }
    });
    consumer.run(handled.notified()).await.unwrap();
    let dropped = orders.group("billing").handle(|_: Entry<String>| async { Ok::<_, Infallible>(()) });
    assert!(tokio::time::timeout(Duration::from_millis(20), dropped.run(pending())).await.is_err());
}
