//! A lock without a Redis: a row in the database, with a lease, and a fence that the same database checks.
//!
//! `cargo run -p evenkeel --features lock,sqlite --example lock_in_rows`
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::lock::{LockTerms, ReleaseOutcome};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = SqliteConnectOptions::new().filename(folder.path().join("shop.sqlite")).create_if_missing(true);
    let pool = SqlitePoolOptions::new().connect_with(file).await?;
    evenkeel::sql::migrate(&pool).await?;
    sqlx::query("CREATE TABLE stock (id INTEGER PRIMARY KEY, units INTEGER NOT NULL)").execute(&pool).await?;
    sqlx::query("INSERT INTO stock (id, units) VALUES (42, 10)").execute(&pool).await?;

    let keel = Keel::memory();
    let locks = keel.row_locks(&pool);
    let guard = locks.lock("stock/42").ttl(Duration::from_secs(10)).metadata("counter 7").acquire().await?;
    println!("taken: {}", locks.lock("stock/42").try_acquire().await?.is_none());
    let names: Vec<String> = locks.held().await?.iter().map(ToString::to_string).collect();
    println!("held: {}", names.join(", "));

    // The fence is the first statement of the transaction: a holder that was overtaken is refused here.
    let mut work = guard.begin(&pool).await?;
    sqlx::query("UPDATE stock SET units = units - 1 WHERE id = 42").execute(work.tx()?).await?;
    work.commit().await?;

    println!("released: {}", guard.release().await? == ReleaseOutcome::Released);

    // Code that chooses its lock backend at run time.
    let any: &dyn evenkeel::lock::ExclusiveLocks = &locks;
    let guard = any.acquire("stock/42", &LockTerms::default()).await?;
    let units: i64 = guard.run(sqlx::query_scalar("SELECT units FROM stock WHERE id = 42").fetch_one(&pool)).await??;
    println!("units: {units}, with a fence: {}", guard.fence().is_some());
    guard.release().await?;
    Ok(())
}
