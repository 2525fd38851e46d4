//! Transactions that are not there any more when they are to be committed.

use crate::sql::rig::{Rig, Sql, in_time, pool};
use evenkeel::sql::{Message, SqlError, Work};
use sqlx::{Acquire, Connection};

on_each! {
    rolled_back_savepoint_discards_its_effects
    effects_sealed_in_a_savepoint_follow_its_outcome
    rolled_back_seal_has_no_effects
    joined_unit_of_work_is_carried_out_after_its_commit
    transaction_ended_by_the_program_returns_lost
    unit_of_work_stays_open_after_a_savepoint
    begin_statement_of_the_program_is_used
    statement_that_begins_no_transaction_is_refused
    lost_transaction_writes_nothing
    effects_of_any_length_are_stored_only_on_commit
}

/// One of ten units is sold, and the cache, which holds ten, is to be invalidated.
async fn sale<DB: Sql>(rig: &Rig<DB>) -> Work<DB> {
    assert_eq!(rig.cached_units().await, 10);
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    DB::run(work.tx(), "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
    work.invalidate(&rig.stock, &1).unwrap();
    work
}

// shows: U1, sql::Effects
async fn rolled_back_savepoint_discards_its_effects<DB: Sql>(rig: Rig<DB>) {
    assert_eq!(rig.cached_units().await, 10);
    let mut transaction = rig.pool.begin().await.unwrap();
    let mut savepoint = (&mut transaction).begin().await.unwrap();
    let mut work = rig.keel.join(&mut savepoint).await.unwrap();
    work.invalidate(&rig.stock, &1).unwrap();
    savepoint.rollback().await.unwrap();
    let error = work.seal(&mut transaction).await.err().unwrap();
    assert!(matches!(error, SqlError::Lost), "{error}");
}

// shows: U5, sql::Joined::seal, sql::Sealed::carry_out
async fn effects_sealed_in_a_savepoint_follow_its_outcome<DB: Sql>(rig: Rig<DB>) {
    assert_eq!(rig.cached_units().await, 10);
    let mut transaction = rig.pool.begin().await.unwrap();
    DB::run(&mut transaction, "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
    let mut savepoint = (&mut transaction).begin().await.unwrap();
    let mut work = rig.keel.join(&mut savepoint).await.unwrap();
    let job = work.enqueue(rig.mail.job(&"sold".to_owned())).unwrap();
    let sealed = work.seal(&mut savepoint).await.unwrap();
    savepoint.rollback().await.unwrap();
    transaction.commit().await.unwrap();
    assert!(sealed.carry_out(&rig.pool).await.unwrap().is_none(), "the row is not there, so nothing is done");
    assert!(rig.mail.find(&job).await.unwrap().is_none());
    assert_eq!(rig.units().await, 9, "the rest of the transaction is");
}

/// Its outcome was unknown after five seconds, because of a "duplicate key".
// shows: hazard T19
async fn rolled_back_seal_has_no_effects<DB: Sql>(rig: Rig<DB>) {
    assert_eq!(rig.cached_units().await, 10);
    let mut transaction = rig.pool.begin().await.unwrap();
    let mut work = rig.keel.join(&mut transaction).await.unwrap();
    let job = work.enqueue(rig.mail.job(&"sold".to_owned())).unwrap();
    let mut savepoint = (&mut transaction).begin().await.unwrap();
    let sealed = work.seal(&mut savepoint).await.unwrap();
    savepoint.rollback().await.unwrap();
    transaction.commit().await.unwrap();
    assert!(sealed.carry_out(&rig.pool).await.unwrap().is_none());
    assert!(rig.mail.find(&job).await.unwrap().is_none());
}

// shows: U5, sql::Joined::seal, sql::Sealed::carry_out
async fn joined_unit_of_work_is_carried_out_after_its_commit<DB: Sql>(rig: Rig<DB>) {
    assert_eq!(rig.cached_units().await, 10);
    let mut transaction = rig.pool.begin().await.unwrap();
    let mut work = rig.keel.join(&mut transaction).await.unwrap();
    DB::run(&mut transaction, "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
    work.invalidate(&rig.stock, &1).unwrap();
    let job = work.enqueue(rig.mail.job(&"sold".to_owned())).unwrap();
    let sealed = work.seal(&mut transaction).await.unwrap();
    assert_eq!(rig.cached_units().await, 10);
    transaction.commit().await.unwrap();
    assert!(sealed.carry_out(&rig.pool).await.unwrap().unwrap().carried_out);
    assert_eq!(rig.cached_units().await, 9);
    assert!(rig.mail.find(&job).await.unwrap().is_some());
    rig.keel.until_marked(&rig.pool).await;
    assert_eq!(rig.outbox_rows(2).await, 1);
}

// shows: U1, sql::Work::commit
async fn transaction_ended_by_the_program_returns_lost<DB: Sql>(rig: Rig<DB>) {
    let mut work = sale(&rig).await;
    DB::run(work.tx(), "ROLLBACK").await.unwrap();
    DB::run(work.tx(), "BEGIN").await.unwrap();
    let error = work.commit().await.unwrap_err();
    assert!(matches!(error, SqlError::Lost) && error.is_retryable() && !error.outcome_unknown(), "{error}");
    assert_eq!((rig.units().await, rig.cached_units().await), (10, 10));
}

async fn unit_of_work_stays_open_after_a_savepoint<DB: Sql>(rig: Rig<DB>) {
    let mut work = sale(&rig).await;
    let mut tried = Connection::begin(work.tx()).await.unwrap();
    DB::run(&mut tried, "UPDATE stock SET units = 0 WHERE id = 1").await.unwrap();
    tried.rollback().await.unwrap();
    let mut kept = Connection::begin(work.tx()).await.unwrap();
    DB::run(&mut kept, "UPDATE stock SET units = units - 1 WHERE id = 1").await.unwrap();
    kept.commit().await.unwrap();
    assert!(work.commit().await.unwrap().carried_out);
    assert_eq!((rig.units().await, rig.cached_units().await), (8, 8));
}

/// With the program's own text, a semicolon and a comment included.
// shows: sql::Keel::begin, sql::Keel::begin_with, sql::Keel::join
async fn begin_statement_of_the_program_is_used<DB: Sql>(rig: Rig<DB>) {
    assert_eq!(rig.cached_units().await, 10);
    for begin in ["BEGIN;", "BEGIN ;\n", "BEGIN -- of a sale"] {
        let mut work = rig.keel.begin_with(&rig.pool, begin).await.unwrap();
        DB::run(work.tx(), "UPDATE stock SET units = units - 1 WHERE id = 1").await.unwrap();
        work.invalidate(&rig.stock, &1).unwrap();
        assert!(work.commit().await.unwrap().carried_out, "{begin}");
    }
    assert_eq!((rig.units().await, rig.cached_units().await), (7, 7));
}

/// On SQLite the savepoint that marks the transaction began one of its own, whose commit was that of the savepoint.
// shows: hazard T18
async fn statement_that_begins_no_transaction_is_refused<DB: Sql>(rig: Rig<DB>) {
    for statement in ["", "SELECT 1", "BEGIN; COMMIT"] {
        let refused = rig.keel.begin_with(&rig.pool, statement).await.map(drop);
        assert!(matches!(refused, Err(SqlError::Database { .. })), "{statement}: {refused:?}");
    }
    assert!(sale(&rig).await.commit().await.unwrap().carried_out, "the pool is as before");
    assert_eq!((rig.units().await, rig.cached_units().await), (9, 9));
}

/// Without the transaction, each statement is committed by itself. The sequences and messages of an ordered key came before
/// the check of the unit's row, so a message of a rolled-back unit was sent, or left its key with a gap.
// shows: U1, hazard O7, sql::Joined::seal, sql::Sealed::carry_out
async fn lost_transaction_writes_nothing<DB: Sql>(rig: Rig<DB>) {
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    work.publish(Message::new("orders", "sold").key("7")).unwrap();
    work.enqueue(rig.mail.job(&"sold".to_owned()).id("order/7")).unwrap();
    DB::run(work.tx(), "ROLLBACK").await.unwrap();
    let error = work.commit().await.unwrap_err();
    assert!(matches!(error, SqlError::Lost), "{error}");
    for table in ["evenkeel_outbox_ordered", "evenkeel_outbox_keys", "evenkeel_job_versions", "evenkeel_outbox"] {
        assert_eq!(rig.number(&format!("SELECT COUNT(*) FROM {table}")).await, 0, "{table}");
    }
}

/// Short ones travel to MySQL and MariaDB in the statement that checks the transaction, long ones after it.
// shows: U1
async fn effects_of_any_length_are_stored_only_on_commit<DB: Sql>(rig: Rig<DB>) {
    for length in [1, 1_000, 20_000] {
        let mut work = sale(&rig).await;
        work.publish(Message::new("orders", "'".repeat(length))).unwrap();
        DB::run(work.tx(), "ROLLBACK").await.unwrap();
        let error = work.commit().await.unwrap_err();
        assert!(matches!(error, SqlError::Lost), "{error}");
        assert_eq!(rig.number("SELECT COUNT(*) FROM evenkeel_outbox").await, 0, "{length}");
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        work.publish(Message::new("orders", "'".repeat(length))).unwrap();
        assert!(!work.commit().await.unwrap().carried_out, "there is no sink");
        let noted = format!("SELECT COUNT(*) FROM evenkeel_outbox WHERE LENGTH(effects) > {length}");
        assert_eq!(rig.number(&noted).await, 1, "{length}");
        DB::run(&mut rig.pool.acquire().await.unwrap(), "DELETE FROM evenkeel_outbox").await.unwrap();
        DB::run(&mut rig.pool.acquire().await.unwrap(), "UPDATE stock SET units = 10 WHERE id = 1").await.unwrap();
    }
}

/// SQLite rejects a rollback of a transaction that has ended. The pool got its connection back as one inside a transaction,
/// and the next unit of work on it could not begin.
// shows: U1, hazard B2
#[tokio::test]
async fn connection_of_a_lost_transaction_serves_the_next_work() {
    in_time(async {
        let rig = Rig::<sqlx::Sqlite>::open().await;
        let one = pool::<sqlx::Sqlite>(&rig.database.url, 1).await;
        for _ in 0..2 {
            let mut work = rig.keel.begin(&one).await.unwrap();
            work.invalidate(&rig.stock, &1).unwrap();
            sqlx::raw_sql("ROLLBACK").execute(work.tx()).await.unwrap();
            let error = work.commit().await.unwrap_err();
            assert!(matches!(error, SqlError::Lost), "{error}");
            let next = rig.keel.begin(&one).await.unwrap();
            assert!(next.commit().await.unwrap().carried_out);
        }
    })
    .await;
}

/// InnoDB rolls back the whole transaction of a deadlock's victim. A program that ignores the error and continues would
/// commit nothing and have effects in Redis.
// shows: U1, hazard O7, sql::Work::watch
#[tokio::test]
async fn ignored_deadlock_is_not_committed() {
    in_time(async {
        let rig = Rig::<sqlx::MySql>::open().await;
        let mut work = sale(&rig).await;
        let mut other = rig.pool.begin().await.unwrap();
        // The victim is the transaction that has changed less.
        for id in 10..30 {
            sqlx::query("INSERT INTO stock (id, units) VALUES (?, 0)").bind(id).execute(&mut *other).await.unwrap();
        }
        sqlx::query("UPDATE stock SET units = 21 WHERE id = 2").execute(&mut *other).await.unwrap();
        let (deadlock, waited) = tokio::join!(
            async { sqlx::query("UPDATE stock SET units = 19 WHERE id = 2").execute(work.tx()).await.map(drop) },
            async { sqlx::query("UPDATE stock SET units = 11 WHERE id = 1").execute(&mut *other).await.map(drop) },
        );
        waited.unwrap();
        let number = deadlock.unwrap_err().as_database_error().unwrap().code().unwrap().into_owned();
        assert_eq!(number, "40001", "a deadlock");
        other.commit().await.unwrap();
        let error = work.commit().await.unwrap_err();
        assert!(matches!(error, SqlError::Lost) && error.is_retryable(), "{error}");
        assert_eq!((rig.units().await, rig.cached_units().await), (11, 10), "no effect of what did not happen");
    })
    .await;
}

/// MySQL and MariaDB commit before they create a table. Earlier statements are committed and cannot be rolled back; but the
/// program gets an error, and a transaction that was two has no effects in Redis.
// shows: U1
#[tokio::test]
async fn implicit_commit_by_ddl_returns_lost() {
    in_time(async {
        let rig = Rig::<sqlx::MySql>::open().await;
        let mut work = sale(&rig).await;
        sqlx::raw_sql("CREATE TABLE made (id BIGINT)").execute(work.tx()).await.unwrap();
        let error = work.commit().await.unwrap_err();
        assert!(matches!(error, SqlError::Lost), "{error}");
        assert_eq!((rig.units().await, rig.outbox_rows(1).await + rig.outbox_rows(2).await), (9, 0));
    })
    .await;
}

/// The same for a program that shows the error to the unit of work and continues.
// shows: U1, sql::Work::commit, sql::Work::watch
#[tokio::test]
async fn work_with_a_lock_timeout_can_only_be_rolled_back() {
    in_time(async {
        let rig = Rig::<sqlx::Postgres>::open().await;
        let mut other = rig.pool.begin().await.unwrap();
        sqlx::query("UPDATE stock SET units = 11 WHERE id = 1").execute(&mut *other).await.unwrap();
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        sqlx::query("SET LOCAL lock_timeout = '10ms'").execute(work.tx()).await.unwrap();
        let refused = sqlx::query("UPDATE stock SET units = 9 WHERE id = 1").execute(work.tx()).await;
        assert!(work.watch(refused).is_err());
        let error = work.commit().await.unwrap_err();
        assert!(matches!(error, SqlError::Poisoned(_)) && error.is_retryable(), "{error}");
    })
    .await;
}

/// PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK, which is not an error and is easily overlooked.
// shows: U1, hazard B4, sql::Work::commit
#[tokio::test]
async fn aborted_postgres_transaction_is_not_committed() {
    in_time(async {
        let rig = Rig::<sqlx::Postgres>::open().await;
        let mut work = sale(&rig).await;
        sqlx::query("SELECT 1 / 0").execute(work.tx()).await.unwrap_err();
        let error = work.commit().await.unwrap_err();
        assert!(matches!(error, SqlError::Database { .. }) && !error.outcome_unknown(), "{error}");
        assert!(!error.is_retryable(), "the same statement fails each time: {error}");
        assert_eq!((rig.units().await, rig.cached_units().await), (10, 10));
    })
    .await;
}
