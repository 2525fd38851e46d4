//! Programs of an older version write and read while ten new ones start and upgrade the tables.

use super::own_migrations::{PROGRAMS, TABLE, former, make_older, right_schema};
use crate::sql::rig::{Rig, Sql, pool};
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::sql::{SqlError, run_migrations};
use futures_util::future::{join, join_all};
use sqlx::Pool;
use sqlx::migrate::Migrate;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::process::Worker;
use testkit::schema::described;

on_each! {
    programs_upgrade_an_older_schema_under_load
}

const OLD_PROGRAMS: i64 = 3;

/// The library's tables of its second version are enough for units of work with invalidations.
const OF_LIBRARY: usize = 2;

/// A work of an older program: a row, with the columns of then, and an invalidation.
async fn make<DB: Sql>(keel: &Keel, pool: &Pool<DB>, goods: &Cache<i64, i64>, id: i64) -> Result<(), SqlError> {
    let mut work = keel.begin(pool).await?;
    DB::run(work.tx(), &format!("INSERT INTO goods (id, name) VALUES ({id}, 'old')")).await?;
    work.invalidate(goods, &id)?;
    work.commit().await?;
    let read = DB::number(&mut *pool.acquire().await?, &format!("SELECT id FROM goods WHERE id = {id}")).await?;
    assert_eq!(read, Some(id), "it was confirmed");
    Ok(())
}

/// Commits until the end; returns the confirmed units of work. Each other error must be retryable.
async fn old_program<DB: Sql>(url: &str, name: i64, is_over: &AtomicBool) -> Vec<i64> {
    let (keel, pool) = (Keel::memory(), pool::<DB>(url, 2).await);
    let goods = keel.cache("goods").ttl(Duration::from_secs(600)).open().await.unwrap();
    let mut made = Vec::new();
    let mut next = name * 1_000_000;
    while !is_over.load(Ordering::SeqCst) {
        next += 1;
        match make(&keel, &pool, &goods, next).await {
            Ok(()) => made.push(next),
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
    made
}

// shows: U5, hazard S8, sql::run_migrations, sql::migrate
async fn programs_upgrade_an_older_schema_under_load<DB: Sql>(_rig: Rig<DB>)
where
    DB::Connection: Migrate,
{
    let database = DB::fresh().await;
    make_older::<DB>(&database.url, OF_LIBRARY).await;
    let is_over = AtomicBool::new(false);
    let start = async {
        let programs = (0..PROGRAMS).map(|_| async {
            let mut worker = Worker::start("sql::work::tables::own_migrations::program").unwrap();
            worker.say(&database.url).unwrap();
            worker.receive::<String>().await
        });
        let started = join_all(programs).await;
        is_over.store(true, Ordering::SeqCst);
        started.into_iter().for_each(|started| drop(started.unwrap()));
    };
    let old = join_all((1..=OLD_PROGRAMS).map(|name| old_program::<DB>(&database.url, name, &is_over)));
    let ((), made) = join(start, old).await;
    let made = made.concat();
    assert!(!made.is_empty(), "there was no load");

    let pool = pool::<DB>(&database.url, 1).await;
    let mut connection = pool.acquire().await.unwrap();
    for id in made {
        let found = DB::number(&mut connection, &format!("SELECT units FROM goods WHERE id = {id}")).await.unwrap();
        // 2 where it was there when the upgrade added one.
        assert!(matches!(found, Some(1 | 2)), "{id} has {found:?}");
    }
    let first = DB::numbers(&mut connection, "SELECT id, units FROM goods WHERE id < 1000 ORDER BY id").await.unwrap();
    assert_eq!(first, [(1, 2), (2, 2)], "the upgrade ran once");
    drop(connection);
    // One that is started again says that it is too old.
    let error = run_migrations(&pool, &former(), TABLE).await.unwrap_err();
    assert!(matches!(error, SqlError::NewerSchema { found: 2, known: 1 }), "{error}");
    pool.close().await;
    assert_eq!(described(&database.url).await.unwrap(), right_schema::<DB>().await);
}
