//! A unit of work on a transaction that other code begins and commits: a framework, or a function that receives one.
//!
//! `cargo run -p evenkeel --features cache,sqlite --example join_your_transaction`
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::sql::{Sealed, SqlError, migrate};
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{Acquire, Sqlite, SqlitePool, Transaction};
use std::time::Duration;

type Failure = Box<dyn std::error::Error>;

async fn cents_of(balances: &Cache<i64, i64>, db: &SqlitePool) -> Result<i64, Failure> {
    let db = db.clone();
    let load = async move { sqlx::query_scalar("SELECT cents FROM accounts WHERE id = 1").fetch_optional(&db).await };
    Ok(balances.get(&1, |_| load).await?.map_or(0, |cents| *cents))
}

/// Takes money, and returns the effects that must follow. It commits nothing.
async fn withdraw(
    keel: &Keel,
    balances: &Cache<i64, i64>,
    cents: i64,
    transaction: &mut Transaction<'_, Sqlite>,
) -> Result<Sealed<Sqlite>, SqlError> {
    let mut work = keel.join(transaction).await?;
    let take = sqlx::query("UPDATE accounts SET cents = cents - ? WHERE id = 1").bind(cents);
    take.execute(&mut **transaction).await?;
    work.invalidate(balances, &1)?;
    work.seal(transaction).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    // The database is this one connection, so it is never closed.
    let db = SqlitePoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect("sqlite::memory:")
        .await?;
    sqlx::query("CREATE TABLE accounts (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL)").execute(&db).await?;
    sqlx::query("INSERT INTO accounts (id, cents) VALUES (1, 100)").execute(&db).await?;
    migrate(&db).await?;
    let keel = Keel::memory();
    let balances = keel.cache::<i64, i64>("balance").ttl(Duration::from_secs(600)).open().await?;
    println!("cached: {}", cents_of(&balances, &db).await?);

    // Your transaction, and your commit; then the effects, if it happened.
    let mut transaction = db.begin().await?;
    let sealed = withdraw(&keel, &balances, 30, &mut transaction).await?;
    transaction.commit().await?;
    let carried_out = sealed.carry_out(&db).await?.is_some_and(|committed| committed.carried_out);
    println!("committed; carried out: {carried_out}; cached: {}", cents_of(&balances, &db).await?);

    // What happens in a savepoint that is rolled back is followed by nothing, though the transaction around it commits.
    let mut transaction = db.begin().await?;
    let mut savepoint = transaction.begin().await?;
    let sealed = withdraw(&keel, &balances, 50, &mut savepoint).await?;
    savepoint.rollback().await?;
    transaction.commit().await?;
    let happened = sealed.carry_out(&db).await?.is_some();
    println!("rolled back to the savepoint; happened: {happened}; cached: {}", cents_of(&balances, &db).await?);
    Ok(())
}
