//! A process that is killed (SIGKILL) at each labeled point of a commit: the database decides, without a guess (U1).

use crate::sql::rig::{Rig, Sql, in_time, pool};
use evenkeel::Keel;
use evenkeel::link::LinkOptions;
use evenkeel::queue::JobId;
use evenkeel::sql::Effects;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use testkit::eventually;
use testkit::park::{SharedRedis, redis};
use testkit::process::{Station, Worker};

#[derive(Serialize, Deserialize)]
struct Open {
    database: String,
    redis: String,
    prefix: String,
    /// On a transaction of the caller's own.
    is_joined: bool,
}

async fn connect(url: &str, prefix: &str) -> Keel {
    let mut options = LinkOptions::from_url(url).unwrap();
    prefix.clone_into(&mut options.prefix);
    Keel::builder().connect_with(options).await.unwrap()
}

/// One unit is sold, the cache is invalidated, and a job is sent.
async fn sell<DB: Sql>(open: &Open) {
    let keel = connect(&open.redis, &open.prefix).await;
    let pool = pool::<DB>(&open.database, 2).await;
    let stock = keel.cache::<i64, i64>("stock").ttl(Duration::from_secs(600)).open().await.unwrap();
    let mail = keel.queue::<String>("mail").open().await.unwrap();
    let note = |effects: &mut Effects| {
        effects.invalidate(&stock, &1).unwrap();
        effects.enqueue(mail.job(&"sold".to_owned()).id("sale")).unwrap();
    };
    let sale = "UPDATE stock SET units = units - 1 WHERE id = 1";
    if open.is_joined {
        let mut transaction = pool.begin().await.unwrap();
        let mut work = keel.join(&mut transaction).await.unwrap();
        DB::run(&mut transaction, sale).await.unwrap();
        note(&mut work);
        let sealed = work.seal(&mut transaction).await.unwrap();
        transaction.commit().await.unwrap();
        sealed.carry_out(&pool).await.unwrap();
    } else {
        let mut work = keel.begin(&pool).await.unwrap();
        DB::run(work.tx(), sale).await.unwrap();
        note(&mut work);
        work.commit().await.unwrap();
    }
    // Unreachable: the last point is behind the commit.
    std::future::pending::<()>().await;
}

#[tokio::test]
#[ignore = "a worker of the tests below"]
async fn seller() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let open: Open = station.receive().await.unwrap();
    match &open.database[..5] {
        "sqlit" => sell::<sqlx::Sqlite>(&open).await,
        "mysql" => sell::<sqlx::MySql>(&open).await,
        _ => sell::<sqlx::Postgres>(&open).await,
    }
}

async fn kill_a_seller_at<DB: Sql>(point: &str, is_joined: bool) -> (Rig<DB>, SharedRedis) {
    let server = redis().await.unwrap();
    let rig = Rig::<DB>::with(connect(&server.url, &server.prefix).await).await;
    assert_eq!(rig.cached_units().await, 10);
    let mut worker = Worker::start_with("sql::work::killed::seller", &[("EVENKEEL_CRASH_AT", point)]).unwrap();
    let (database, redis) = (rig.database.url.clone(), server.url.clone());
    worker.say(&Open { database, redis, prefix: server.prefix.clone(), is_joined }).unwrap();
    let status = worker.process().wait().await.unwrap();
    assert!(!status.success(), "it was killed");
    (rig, server)
}

async fn before_the_commit<DB: Sql>(is_joined: bool) {
    let (rig, _server) = kill_a_seller_at::<DB>("before_commit", is_joined).await;
    // The server notices that the client is gone, and rolls the transaction back.
    let add = || async {
        let mut connection = rig.pool.acquire().await.ok()?;
        DB::run(&mut connection, "UPDATE stock SET units = units + 1 WHERE id = 1").await.ok()
    };
    assert_eq!(eventually("the row is free", add).await.unwrap(), 1);
    assert_eq!((rig.units().await, rig.number("SELECT COUNT(*) FROM evenkeel_outbox").await), (11, 0));
    rig.keel.relay(&rig.pool).run_once().await.unwrap();
    assert_eq!(rig.cached_units().await, 10, "the cache was not notified");
    assert!(rig.mail.find(&JobId::named(b"sale")).await.unwrap().is_none());
}

async fn after_the_commit<DB: Sql>(point: &str, is_joined: bool) {
    let (rig, _server) = kill_a_seller_at::<DB>(point, is_joined).await;
    assert_eq!((rig.units().await, rig.outbox_rows(1).await), (9, 1));
    // The head start of the fast path is over.
    DB::run(&mut rig.pool.acquire().await.unwrap(), "UPDATE evenkeel_outbox SET due_at = 0").await.unwrap();
    rig.keel.relay(&rig.pool).run_once().await.unwrap();
    assert_eq!(rig.cached_units().await, 9);
    assert!(rig.mail.find(&JobId::named(b"sale")).await.unwrap().is_some());
    assert_eq!((rig.outbox_rows(1).await, rig.outbox_rows(2).await), (0, 1));
}

macro_rules! on_each_database {
    ($($name:ident: $database:ty;)+) => {$(
        mod $name {
            use super::*;

            // shows: U1, sql::Effects
            #[tokio::test]
            async fn kill_before_the_commit_has_no_effect() {
                in_time(before_the_commit::<$database>(false)).await;
            }

            // shows: U1, sql::Joined::seal, sql::Sealed::carry_out
            #[tokio::test]
            async fn kill_before_the_commit_of_the_caller_has_no_effect() {
                in_time(before_the_commit::<$database>(true)).await;
            }

            // shows: U1, sql::Effects
            #[tokio::test]
            async fn kill_after_the_commit_loses_no_effect() {
                in_time(after_the_commit::<$database>("after_commit", false)).await;
            }

            // shows: U1
            #[tokio::test]
            async fn kill_after_the_commit_of_the_caller_loses_no_effect() {
                in_time(after_the_commit::<$database>("after_commit", true)).await;
            }

            // shows: U1, sql::Work::commit
            #[tokio::test]
            async fn kill_during_the_fast_path_loses_no_effect() {
                in_time(after_the_commit::<$database>("inside_fast_path", false)).await;
            }

            // shows: U1, sql::Relay
            #[tokio::test]
            async fn kill_after_the_fast_path_repeats_the_effects() {
                in_time(after_the_commit::<$database>("carried_out", false)).await;
            }
        }
    )+};
}

on_each_database! {
    sqlite: sqlx::Sqlite;
    mariadb: sqlx::MySql;
    postgres: sqlx::Postgres;
}
