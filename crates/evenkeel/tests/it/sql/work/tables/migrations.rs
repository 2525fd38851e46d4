//! The library's own tables.

use crate::sql::rig::{Rig, Sql, pool};
use evenkeel::Keel;
use evenkeel::sql::{SqlError, check_schema, migrate};
use futures_util::future::join_all;
use sqlx::Postgres;
use testkit::eventually;

on_each! {
    programs_started_at_once_create_the_tables_once
    program_older_than_the_schema_is_rejected
    schema_check_names_what_differs_and_changes_nothing
    missing_tables_error_says_what_to_do
}

/// Every instance of a service runs the migrations when it starts, and a deployment starts them all at once.
// shows: U5, hazard O10, sql::migrate
async fn programs_started_at_once_create_the_tables_once<DB: Sql>(rig: Rig<DB>) {
    let empty = DB::fresh().await;
    let pools = join_all((0..8).map(|_| pool::<DB>(&empty.url, 1))).await;
    for migrated in join_all(pools.iter().map(migrate)).await {
        migrated.unwrap();
    }
    let mut connection = pools[0].acquire().await.unwrap();
    let run = "SELECT COUNT(*) FROM evenkeel_migrations";
    assert_eq!(DB::number(&mut connection, run).await.unwrap(), Some(rig.number(run).await));
    assert!(rig.number(run).await > 0);
    migrate(&rig.pool).await.unwrap();
}

// shows: U5, hazard O10, sql::migrate
async fn program_older_than_the_schema_is_rejected<DB: Sql>(rig: Rig<DB>) {
    let newer = "INSERT INTO evenkeel_migrations (version, name, run_at) VALUES (1000, 'from the future', 0)";
    DB::run(&mut rig.pool.acquire().await.unwrap(), newer).await.unwrap();
    let error = migrate(&rig.pool).await.unwrap_err();
    assert!(matches!(error, SqlError::NewerSchema { found: 1000, .. }), "{error}");
}

// shows: hazard PO3, sql::check_schema
async fn schema_check_names_what_differs_and_changes_nothing<DB: Sql>(rig: Rig<DB>) {
    check_schema(&rig.pool).await.unwrap();
    let run = async |text| DB::run(&mut rig.pool.acquire().await.unwrap(), text).await.unwrap();
    run("INSERT INTO evenkeel_migrations (version, name, run_at) VALUES (1000, 'from the future', 0)").await;
    let newer = check_schema(&rig.pool).await.unwrap_err();
    assert!(matches!(newer, SqlError::NewerSchema { found: 1000, .. }), "{newer}");
    run("DELETE FROM evenkeel_migrations WHERE version IN (3, 1000)").await;
    let older = check_schema(&rig.pool).await.unwrap_err();
    assert!(matches!(older, SqlError::OlderSchema { missing: 3, .. }), "{older}");
    assert!(older.to_string().contains("start a service of this version"), "{older}");
    let empty = DB::fresh().await;
    let pool = pool::<DB>(&empty.url, 1).await;
    let none = check_schema(&pool).await.unwrap_err();
    assert!(matches!(none, SqlError::NotMigrated), "{none}");
}

// shows: U5, sql::Keel::begin, sql::Keel::begin_with, sql::Keel::join
async fn missing_tables_error_says_what_to_do<DB: Sql>(_rig: Rig<DB>) {
    let empty = DB::fresh().await;
    let pool = pool::<DB>(&empty.url, 1).await;
    let error = Keel::memory().begin(&pool).await.unwrap_err();
    assert!(matches!(error, SqlError::NotMigrated) && error.to_string().contains("migrate"), "{error}");
    assert_eq!(
        DB::number(
            &mut pool.acquire().await.unwrap(),
            "SELECT COUNT(*) FROM (SELECT 1 AS one UNION ALL SELECT 2) AS ones"
        )
        .await
        .ok()
        .flatten(),
        Some(2)
    );
}

/// A process that hung with the lock of the migrations held up every other one without a limit; MySQL, MariaDB and the documentation had one.
// shows: hazard B7
#[tokio::test]
async fn migration_waits_for_a_minute_at_most_on_postgres() {
    crate::in_time(async {
        let empty = Postgres::fresh().await;
        let (holder, waiter) = (pool::<Postgres>(&empty.url, 1).await, pool::<Postgres>(&empty.url, 1).await);
        let mut held = holder.acquire().await.unwrap();
        Postgres::run(&mut held, "SELECT pg_advisory_lock(7309453286123)").await.unwrap();
        let migrating = tokio::spawn(async move { migrate(&waiter).await });
        let watcher = pool::<Postgres>(&empty.url, 1).await;
        let waits = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory' \
            AND query LIKE '%lock_timeout = ''60s''%'";
        let limited = eventually("the wait has its limit", async || {
            let found = Postgres::number(&mut watcher.acquire().await.unwrap(), waits).await.unwrap();
            (found == Some(1)).then_some(())
        });
        limited.await.unwrap();
        Postgres::run(&mut held, "SELECT pg_advisory_unlock(7309453286123)").await.unwrap();
        migrating.await.unwrap().unwrap();
    })
    .await;
}
