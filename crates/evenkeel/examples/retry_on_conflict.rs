//! Optimistic locking: read without a lock, compare the version when writing, and retry after a conflict; after two
//! conflicts the row is locked instead.
//!
//! `cargo run -p evenkeel --features sqlite --example retry_on_conflict`
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::sql::{Approach, ConflictPolicy, ForUpdate, OptimisticError, Stale};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{Sqlite, SqlitePool};
use std::time::Duration;

const READ: &str = "SELECT units, version FROM stock WHERE id = 42";

/// Takes one unit. Another writer changes the row after each optimistic read: a hot row.
async fn take_one(keel: &Keel, db: &SqlitePool, approach: Approach) -> Result<i64, OptimisticError> {
    println!("{approach:?}");
    match approach {
        Approach::Optimistic => {
            let (units, version): (i64, i64) = sqlx::query_as(READ).fetch_one(db).await?;
            sqlx::query("UPDATE stock SET units = units - 1, version = version + 1").execute(db).await?;
            let update = sqlx::query("UPDATE stock SET units = ?, version = version + 1 WHERE id = 42 AND version = ?");
            let update = update.bind(units - 1).bind(version).execute(db).await?;
            Stale::unless(update.rows_affected())?;
            Ok(units - 1)
        }
        Approach::Pessimistic => {
            let mut work = keel.begin_locking(db, Duration::from_secs(2)).await?;
            let read = sqlx::query_as(ForUpdate::Wait.of::<Sqlite>(READ));
            let (units, _): (i64, i64) = read.fetch_one(work.tx()?).await?;
            let update = sqlx::query("UPDATE stock SET units = ?, version = version + 1 WHERE id = 42");
            update.bind(units - 1).execute(work.tx()?).await?;
            work.commit().await?;
            Ok(units - 1)
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = SqliteConnectOptions::new().filename(folder.path().join("shop.sqlite")).create_if_missing(true);
    let db = SqlitePoolOptions::new().connect_with(file).await?;
    sqlx::query("CREATE TABLE stock (id INTEGER PRIMARY KEY, units INTEGER NOT NULL, version INTEGER NOT NULL)")
        .execute(&db)
        .await?;
    sqlx::query("INSERT INTO stock (id, units, version) VALUES (42, 10, 1)").execute(&db).await?;

    let keel = Keel::memory();
    let policy = ConflictPolicy::default().attempts(5);
    let left = keel.retry_adaptively(&policy, 2, |approach| take_one(&keel, &db, approach)).await?;
    println!("left: {left}");

    // Without a lock, work on a row that always changes in between fails with the number of its attempts.
    let policy = ConflictPolicy::default().attempts(2);
    let given_up = keel.retry_on_conflict(&policy, || take_one(&keel, &db, Approach::Optimistic)).await;
    println!("{}", given_up.err().map_or_else(|| "done".to_owned(), |error| error.to_string()));
    Ok(())
}
