//! What the codes of the servers mean for a program: the servers raise them here on request.

use super::rig::{Rig, Sql, in_time, pool};
use evenkeel::sql::{Conflict, Contended, Message, SqlError};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, MySql, Postgres, Sqlite};
use std::str::FromStr;
use std::time::Duration;

/// Code, conflict, whether the work may be repeated.
type Meaning = (&'static str, Option<Conflict>, bool);

const MYSQL: [Meaning; 19] = [
    ("1213", Some(Conflict::Deadlock), true),
    ("1205", Some(Conflict::NotGranted), true),
    ("3572", Some(Conflict::NotGranted), true),
    ("1020", Some(Conflict::Serialization), true),
    ("3101", Some(Conflict::Serialization), true),
    // The connection was lost, or the server ended the statement.
    ("1053", None, true),
    ("1077", None, true),
    ("1317", None, true),
    ("1927", None, true),
    ("2006", None, true),
    ("2013", None, true),
    // The connection was idle for too long.
    ("4031", None, true),
    // The server, or the session, is read-only: the primary is another server now.
    ("1290", None, true),
    ("1792", None, true),
    ("1836", None, true),
    // Too many connections.
    ("1040", None, true),
    ("1203", None, true),
    // A duplicate key, a column that does not exist.
    ("1062", None, false),
    ("1054", None, false),
];

const POSTGRES: [Meaning; 19] = [
    ("40P01", Some(Conflict::Deadlock), true),
    ("55P03", Some(Conflict::NotGranted), true),
    ("40001", Some(Conflict::Serialization), true),
    ("57P01", None, true),
    ("57P02", None, true),
    ("57P03", None, true),
    ("40003", None, true),
    ("08003", None, true),
    ("08006", None, true),
    ("08007", None, true),
    // Idle for too long in a transaction, idle for too long, a transaction that took too long.
    ("25P03", None, true),
    ("57P05", None, true),
    ("25P04", None, true),
    ("25006", None, true),
    ("53300", None, true),
    // A statement after one that failed: the work fails in the same way each time, if the first one does.
    ("25P02", None, false),
    ("23505", None, false),
    ("22012", None, false),
    ("42703", None, false),
];

async fn every_code<DB: Sql>(rig: &Rig<DB>, meanings: &[Meaning], raise: impl Fn(&str) -> String) {
    for (code, conflict, is_retryable) in meanings {
        let mut connection = rig.pool.acquire().await.unwrap();
        let error = DB::run(&mut connection, &raise(code)).await.unwrap_err();
        assert_eq!(error.conflict(), *conflict, "{code}: {error}");
        let error = SqlError::from(error);
        assert!(matches!(error, SqlError::Database { .. }), "{code}: {error}");
        assert_eq!((error.is_retryable(), error.outcome_unknown()), (*is_retryable, false), "{code}: {error}");
    }
}

// shows: hazard B4
#[tokio::test]
async fn each_server_code_has_its_meaning_on_mariadb() {
    in_time(async {
        let rig = Rig::<MySql>::open().await;
        every_code(&rig, &MYSQL, |code| {
            format!("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = 'raised'")
        })
        .await;
    })
    .await;
}

// shows: hazard B4
#[tokio::test]
async fn each_server_code_has_its_meaning_on_postgres() {
    in_time(async {
        let rig = Rig::<Postgres>::open().await;
        every_code(&rig, &POSTGRES, |code| {
            format!("DO $$ BEGIN RAISE EXCEPTION 'raised' USING ERRCODE = '{code}'; END $$")
        })
        .await;
    })
    .await;
}

/// What SQLite raises without a fault of the machine; its other codes are in the unit test of `sqlite.rs`.
// shows: hazard B4
#[tokio::test]
async fn each_error_has_its_meaning_on_sqlite() {
    in_time(async {
        let rig = Rig::<Sqlite>::open().await;
        let quick = SqliteConnectOptions::from_str(&rig.database.url).unwrap().busy_timeout(Duration::ZERO);
        let [mut one, mut other] = [quick.clone().connect().await.unwrap(), quick.connect().await.unwrap()];
        let sell = "UPDATE stock SET units = units - 1 WHERE id = 1";
        for (before, statement, conflict, is_retryable) in [
            ("BEGIN IMMEDIATE", sell, Some(Conflict::NotGranted), true),
            ("SELECT 1", "INSERT INTO stock VALUES (1, 1)", None, false),
            ("SELECT 1", "SELECT nothing FROM stock", None, false),
            ("SELECT 1", "PRAGMA query_only = 1; UPDATE stock SET units = 1", None, false),
        ] {
            Sqlite::run(&mut other, before).await.unwrap();
            let error = Sqlite::run(&mut one, statement).await.unwrap_err();
            assert_eq!(error.conflict(), conflict, "{statement}: {error}");
            assert_eq!(SqlError::from(error).is_retryable(), is_retryable, "{statement}");
            let _ = Sqlite::run(&mut other, "ROLLBACK").await;
        }
        Sqlite::run(&mut one, "PRAGMA query_only = 0; PRAGMA journal_mode = WAL; BEGIN; SELECT * FROM stock")
            .await
            .unwrap();
        Sqlite::run(&mut other, sell).await.unwrap();
        let error = Sqlite::run(&mut one, sell).await.unwrap_err();
        assert_eq!(error.conflict(), Some(Conflict::Serialization), "{error}");
    })
    .await;
}

/// After a failover the connections of the pool lead to a server that takes no writes any more. A unit of work failed for as long as its
/// pool kept them, and its error was not retryable. Here the session is read-only.
async fn unit_of_work_on_a_read_only_session_closes_it<DB: Sql>(rig: Rig<DB>, read_only: &str) {
    let one = pool::<DB>(&rig.database.url, 1).await;
    let demote = async || DB::run(&mut one.acquire().await.unwrap(), read_only).await.unwrap();
    // Once the library's own statement is refused, once that of the program.
    demote().await;
    let mut work = rig.keel.begin(&one).await.unwrap();
    work.publish(Message::new("orders", "sold")).unwrap();
    let error = work.commit().await.unwrap_err();
    assert!(error.is_retryable() && !error.outcome_unknown(), "{error}");
    rig.keel.begin(&one).await.unwrap().commit().await.unwrap();
    demote().await;
    let mut work = rig.keel.begin(&one).await.unwrap();
    let sold = DB::run(work.tx(), "UPDATE stock SET units = 9 WHERE id = 1").await;
    work.watch(sold).unwrap_err();
    drop(work);
    let mut work = rig.keel.begin(&one).await.unwrap();
    DB::run(work.tx(), "UPDATE stock SET units = 8 WHERE id = 1").await.unwrap();
    work.commit().await.unwrap();
    assert_eq!(rig.units().await, 8);
}

// shows: hazard B4, sql::Work::watch
#[tokio::test]
async fn unit_of_work_on_a_read_only_session_closes_it_on_mariadb() {
    let rig = Rig::<MySql>::open().await;
    Box::pin(in_time(unit_of_work_on_a_read_only_session_closes_it(rig, "SET SESSION TRANSACTION READ ONLY"))).await;
}

// shows: hazard B4, sql::Work::watch
#[tokio::test]
async fn unit_of_work_on_a_read_only_session_closes_it_on_postgres() {
    let rig = Rig::<Postgres>::open().await;
    let read_only = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY";
    Box::pin(in_time(unit_of_work_on_a_read_only_session_closes_it(rig, read_only))).await;
}
