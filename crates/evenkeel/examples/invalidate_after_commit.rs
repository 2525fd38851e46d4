//! Invalidate after the commit: why the order matters, and why a load that was already on its way does no harm.
//!
//! `cargo run -p evenkeel --features cache --example invalidate_after_commit`
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;
use std::time::Duration;
use tokio::sync::Notify;

/// A reader that has read its row and waits for permission to continue: what a slow network does by chance, shown on
/// purpose.
static HAS_READ: Notify = Notify::const_new();
static GO_ON: Notify = Notify::const_new();

async fn balance(db: SqlitePool, account: i64) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar("SELECT cents FROM accounts WHERE id = ?").bind(account).fetch_optional(&db).await
}

async fn slow_balance(db: SqlitePool, account: i64) -> Result<Option<i64>, sqlx::Error> {
    let cents = balance(db, account).await?;
    HAS_READ.notify_one();
    GO_ON.notified().await;
    Ok(cents)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The database is this one connection, so it is never closed.
    let db = SqlitePoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect("sqlite::memory:")
        .await?;
    sqlx::query("CREATE TABLE accounts (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL)").execute(&db).await?;
    sqlx::query("INSERT INTO accounts (id, cents) VALUES (1, 100)").execute(&db).await?;

    let keel = Keel::memory();
    let balances = keel.cache::<i64, i64>("balance").ttl(Duration::from_secs(600)).open().await?;

    // A reader has read the row, and is slow to store it.
    let reader = tokio::spawn({
        let (balances, db) = (balances.clone(), db.clone());
        async move { balances.get(&1, |id| slow_balance(db, *id)).await }
    });
    HAS_READ.notified().await;

    // A writer changes the row. First the commit, then the invalidation: before the commit, a reader could load and store the
    // row as it was, and nothing would end that.
    let mut transaction = db.begin().await?;
    sqlx::query("UPDATE accounts SET cents = cents - 30 WHERE id = 1").execute(&mut *transaction).await?;
    transaction.commit().await?;
    match balances.invalidate(&1).await {
        Ok(done) => println!("committed, and the cache knows: {done:?}"),
        // Report success to the caller all the same: the write has happened. This process repeats the invalidation as soon
        // as it can.
        Err(error) if error.is_retryable() => println!("committed; the cache will know: {error}"),
        Err(error) => return Err(error.into()),
    }

    // The slow reader gets what it read, and no other reader does: its load began before the invalidation, so it is not
    // stored.
    GO_ON.notify_one();
    println!("the slow reader got {:?}", reader.await??);
    println!("readers now get {:?}", balances.get(&1, |id| balance(db.clone(), *id)).await?);
    Ok(())
}
