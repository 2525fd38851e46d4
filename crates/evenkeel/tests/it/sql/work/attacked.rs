//! Found by attack: effects of another keel, errors of the driver, and messages that are larger than the database takes.

use crate::sql::rig::{Rig, Sql, dropped_after};
use evenkeel::Keel;
use evenkeel::cache::{Cache, Freshness};
use evenkeel::codec::Raw;
use evenkeel::queue::{JobId, Queue};
use evenkeel::sql::sink::{Sinks, StreamSink};
use evenkeel::sql::{Effects, Message, SqlError};

on_each! {
    effects_of_another_keel_are_rejected
    question_mark_keeps_the_database_error
    missing_library_table_returns_not_migrated
    call_dropped_at_any_await_returns_its_connection
    large_effects_do_not_block_small_ones
}

const TTL: std::time::Duration = std::time::Duration::from_secs(600);

/// The message of a rejection.
fn refused<T: std::fmt::Debug>(answer: Result<T, SqlError>) -> String {
    let error = answer.unwrap_err();
    assert!(matches!(error, SqlError::Effect(_)) && !error.is_retryable(), "{error}");
    error.to_string()
}

async fn check(effects: &mut Effects, cache: &Cache<i64, i64>, strong: &Cache<i64, i64>, queue: &Queue<String>) {
    let body = "letter".to_owned();
    let said = [
        refused(effects.invalidate(cache, &1)),
        refused(effects.invalidate_at(cache, &1, 2)),
        refused(effects.purge(cache, &1)),
        refused(effects.invalidate(strong, &1)),
        refused(effects.enqueue(queue.job(&body))),
        refused(effects.reschedule(queue.job(&body).id("a"))),
        refused(effects.revoke(queue, JobId::named(b"a"))),
    ];
    for words in said {
        assert!(words.contains("another Redis") && words.contains("begin the unit of work with"), "{words}");
    }
}

/// A program with two keels named a cache of one in a unit of work of the other: the commit reported success, and the effect
/// was in the wrong Redis.
// shows: hazard A12, sql::Effects::revoke
async fn effects_of_another_keel_are_rejected<DB: Sql>(rig: Rig<DB>) {
    let other = Keel::memory();
    let stock = other.cache("stock").ttl(TTL).open().await.unwrap();
    let strong = other.cache("strong").ttl(TTL).freshness(Freshness::Fresh).open().await.unwrap();
    let mail = other.queue("mail").open().await.unwrap();
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    check(&mut work, &stock, &strong, &mail).await;
    work.invalidate(&rig.stock, &1).unwrap();
    assert!(work.commit().await.unwrap().carried_out, "the unit of work is unchanged");
    let mut transaction = rig.pool.begin().await.unwrap();
    let mut joined = rig.keel.join(&mut transaction).await.unwrap();
    check(&mut joined, &stock, &strong, &mail).await;
    let sealed = joined.seal(&mut transaction).await.unwrap();
    transaction.commit().await.unwrap();
    assert!(sealed.carry_out(&rig.pool).await.unwrap().is_some());
    // Another process on the same store is accepted.
    let twin = rig.keel.another_process();
    let mut work = twin.begin(&rig.pool).await.unwrap();
    work.invalidate(&rig.stock, &1).unwrap();
    work.enqueue(rig.mail.job(&"letter".to_owned())).unwrap();
    work.commit().await.unwrap();
}

/// A Redis at the same address under the same prefix is one store, whichever keel names it; under another prefix it is another one, and so
/// is the embedded store.
// shows: hazard A12
#[tokio::test]
async fn effects_of_another_redis_are_rejected() {
    crate::in_time(Box::pin(async {
        let server = testkit::park::redis().await.unwrap();
        let connect = async |prefix: &str| Keel::connect(&format!("{}?prefix={prefix}", server.url)).await.unwrap();
        let rig = Rig::<sqlx::Sqlite>::with(connect(&server.prefix).await).await;
        let other_prefix = format!("{}other", server.prefix);
        for other in [connect(&other_prefix).await, Keel::memory()] {
            let stock = other.cache("stock").ttl(TTL).open().await.unwrap();
            let strong = other.cache("strong").ttl(TTL).freshness(Freshness::Fresh).open().await.unwrap();
            let mail = other.queue("mail").open().await.unwrap();
            let mut work = rig.keel.begin(&rig.pool).await.unwrap();
            check(&mut work, &stock, &strong, &mail).await;
            work.rollback().await.unwrap();
        }
        let twin = connect(&server.prefix).await;
        let stock: Cache<i64, i64> = twin.cache("stock").ttl(TTL).open().await.unwrap();
        let mail: Queue<String> = twin.queue("mail").open().await.unwrap();
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        work.invalidate(&stock, &1).unwrap();
        work.enqueue(mail.job(&"letter".to_owned())).unwrap();
        assert!(work.commit().await.unwrap().carried_out);
    }))
    .await;
}

/// As a handler that hands the driver's errors on with `?`.
async fn handed_on<DB: Sql>(connection: &mut DB::Connection, sql: &str) -> Result<(), SqlError> {
    DB::run(connection, sql).await?;
    Ok(())
}

/// Two transactions that lock each other out: the one that the database ends may be done again, and the error says so.
// shows: hazard A13
async fn question_mark_keeps_the_database_error<DB: Sql>(rig: Rig<DB>) {
    let (mut one, mut two) = (rig.pool.acquire().await.unwrap(), rig.pool.acquire().await.unwrap());
    let set = |id: i64| format!("UPDATE stock SET units = units + 1 WHERE id = {id}");
    let is_sqlite = rig.database.url.starts_with("sqlite");
    let error = if is_sqlite {
        DB::run(&mut two, "PRAGMA busy_timeout = 0").await.unwrap();
        DB::run(&mut one, "BEGIN IMMEDIATE").await.unwrap();
        let error = handed_on::<DB>(&mut two, "BEGIN IMMEDIATE").await.unwrap_err();
        DB::run(&mut one, "ROLLBACK").await.unwrap();
        error
    } else {
        DB::run(&mut one, "BEGIN").await.unwrap();
        DB::run(&mut two, "BEGIN").await.unwrap();
        DB::run(&mut one, &set(1)).await.unwrap();
        DB::run(&mut two, &set(2)).await.unwrap();
        let (first, second) = (set(2), set(1));
        let both = tokio::join!(handed_on::<DB>(&mut one, &first), handed_on::<DB>(&mut two, &second));
        both.0.err().or(both.1.err()).unwrap()
    };
    assert!(matches!(error, SqlError::Database { .. }) && error.is_retryable(), "{error}");
    let missing = handed_on::<DB>(&mut rig.pool.acquire().await.unwrap(), "SELECT * FROM no_such_table").await;
    let missing = missing.unwrap_err();
    assert!(matches!(missing, SqlError::Database { .. }) && !missing.is_retryable(), "{missing}");
    assert!(missing.to_string().contains("no_such_table"), "{missing}");
}

// shows: hazard A13
async fn missing_library_table_returns_not_migrated<DB: Sql>(rig: Rig<DB>) {
    let mut connection = rig.pool.acquire().await.unwrap();
    DB::run(&mut connection, "DROP TABLE evenkeel_inbox").await.unwrap();
    let error = handed_on::<DB>(&mut connection, "SELECT * FROM evenkeel_inbox").await.unwrap_err();
    assert!(matches!(error, SqlError::NotMigrated), "{error}");
}

/// A handler was dropped in the middle of a call, and its transaction with it: the pool had a connection less forever.
// shows: hazard A16
async fn call_dropped_at_any_await_returns_its_connection<DB: Sql>(rig: Rig<DB>) {
    let inbox = rig.keel.inbox(&rig.pool);
    for waits in 0..10 {
        // Fresh, so that nothing has been prepared on it.
        let pool = crate::sql::rig::pool::<DB>(&rig.database.url, 1).await;
        let mut transaction = pool.begin().await.unwrap();
        let mut joined = rig.keel.join(&mut transaction).await.unwrap();
        joined.enqueue(rig.mail.job(&"letter".to_owned()).id("a")).unwrap();
        joined.publish(Message::new("links", "sold").key("a")).unwrap();
        dropped_after(waits, joined.seal(&mut transaction)).await;
        drop(transaction);
        let mut transaction = pool.begin().await.unwrap();
        dropped_after(waits, inbox.once(&mut transaction, "group", "message")).await;
        drop(transaction);
        let mut transaction = pool.begin().await.unwrap();
        dropped_after(waits, rig.keel.join(&mut transaction)).await;
        drop(transaction);
        let mut connection = pool.acquire().await.unwrap();
        assert_eq!(DB::number(&mut connection, "SELECT units FROM stock WHERE id = 1").await.unwrap(), Some(10));
    }
    assert_eq!(rig.number("SELECT COUNT(*) FROM evenkeel_outbox").await, 0);
    assert_eq!(rig.number("SELECT COUNT(*) FROM evenkeel_inbox").await, 0);
}

/// Large messages and small ones through one relay; MariaDB alone says how much it takes, and is asked before it is sent more.
// shows: hazard A14
async fn large_effects_do_not_block_small_ones<DB: Sql>(rig: Rig<DB>) {
    let large = vec![7_u8; 3 << 20];
    for (size, key) in [(large.len(), None), (10, None), (large.len(), Some("a")), (10, Some("b"))] {
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        let message = Message::new("links", large[..size].to_vec());
        work.publish(key.map_or(message.clone(), |key| message.key(key))).unwrap();
        work.commit().await.unwrap();
    }
    assert_eq!(rig.number("SELECT COUNT(*) FROM evenkeel_outbox WHERE LENGTH(effects) > 3000000").await, 1);
    if rig.database.url.starts_with("mysql") {
        let limit = rig.number("SELECT CAST(@@max_allowed_packet AS SIGNED)").await;
        let too_large = vec![7_u8; usize::try_from(limit).unwrap()];
        for key in [None, Some("a")] {
            let mut work = rig.keel.begin(&rig.pool).await.unwrap();
            let message = Message::new("links", too_large.clone());
            work.publish(key.map_or(message.clone(), |key| message.key(key))).unwrap();
            let error = work.commit().await.unwrap_err();
            assert!(matches!(error, SqlError::TooLarge { .. }) && !error.is_retryable(), "{error}");
            assert!(!error.outcome_unknown() && error.to_string().contains(&limit.to_string()), "{error}");
            let SqlError::TooLarge { bytes, .. } = &error else { panic!("{error}") };
            assert!(error.to_string().contains(&bytes.to_string()), "both numbers: {error}");
        }
        // A job whose row decides is a row of that size, in a unit of work and without one.
        let builder = rig.keel.queue("bulk").codec(Raw).body_bytes_max(2 * too_large.len());
        let (bulk, body) = (builder.sql(&rig.pool).open().await.unwrap(), bytes::Bytes::from(too_large));
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        work.enqueue(bulk.job(&body)).unwrap();
        let error = work.commit().await.unwrap_err();
        assert!(matches!(error, SqlError::TooLarge { .. }) && !error.is_retryable(), "{error}");
        let error = bulk.now(&body).await.unwrap_err();
        assert!(!error.is_retryable() && error.to_string().contains(&limit.to_string()), "{error}");
        let small = bulk.delay(TTL, &bytes::Bytes::from_static(b"small")).await.unwrap();
        let error = bulk.edit(&small, &body).await.unwrap_err();
        assert!(!error.is_retryable() && error.to_string().contains(&limit.to_string()), "{error}");
    }
    assert_eq!(rig.outbox_rows(1).await, 2, "what was refused left nothing");
    let sinks = Sinks::to(StreamSink::new(&rig.keel));
    let relay = rig.keel.relay(&rig.pool).sinks(sinks);
    DB::run(&mut rig.pool.acquire().await.unwrap(), "UPDATE evenkeel_outbox SET due_at = 1 WHERE state = 1")
        .await
        .unwrap();
    let looked = relay.run_once().await.unwrap();
    assert_eq!((looked.carried, looked.sent), (2, 2));
}
