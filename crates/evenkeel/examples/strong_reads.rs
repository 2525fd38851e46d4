//! Strong reads: a balance that must never be read stale. Writers open an update window, readers ask for the current row,
//! and readers that accept an older one say so.
//!
//! `cargo run -p evenkeel --features cache --example strong_reads`
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::cache::{CacheError, Freshness, WhileWriting};
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;
use std::time::Duration;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

async fn balance(db: SqlitePool, account: i64) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar("SELECT cents FROM accounts WHERE id = ?").bind(account).fetch_optional(&db).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Fallible<()> {
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
    let balances =
        keel.cache::<i64, i64>("balance").ttl(Duration::from_secs(600)).retain_stale(Duration::from_secs(60));
    // Reads are fresh where they do not ask for less. Most would rather wait for a writer than fail; here the refusal shows it.
    let balances = balances.strong().while_writing(WhileWriting::Fail).open().await?;
    println!("before the write: {:?}", balances.get(&1, |id| balance(db.clone(), *id)).await?);

    // The window is open before the statement is sent, and ends after the commit.
    let written = balances
        .write_with(&1, |window| {
            let (balances, db) = (balances.clone(), db.clone());
            async move {
                // Meanwhile no reader gets the older balance, unless it asks for it.
                let fresh = balances.get(&1, |id| balance(db.clone(), *id)).await;
                println!("in the window, a fresh read: {}", if fresh.is_err() { "refused" } else { "served" });
                let older = balances.get_with(&1, Freshness::Eventual, |id| balance(db.clone(), *id)).await?;
                println!("in the window, an eventual read: {:?}, stale: {:?}", older.value, older.stale);

                let mut transaction = db.begin().await?;
                sqlx::query("UPDATE accounts SET cents = cents - 30 WHERE id = 1").execute(&mut *transaction).await?;
                // The last check before the commit: the commit must end before the window does.
                match window.check().await {
                    Ok(left) => println!("the window is open: {}", !left.is_zero()),
                    Err(CacheError::WindowLost) => {
                        transaction.rollback().await?;
                        window.rolled_back();
                        return Err("the window was lost; begin again".into());
                    }
                    Err(error) => return Err(error.into()),
                }
                transaction.commit().await?;
                Fallible::Ok(())
            }
        })
        .await
        .map_err(|error| error.to_string())?;
    println!("the commit was covered: {}", written.window.is_closed());

    let found = balances.get_with(&1, Freshness::Fresh, |id| balance(db.clone(), *id)).await?;
    println!("after the write, a fresh read: {:?}, stale: {:?}", found.value, found.stale);
    Ok(())
}
