//! A transaction, an invalidation and a job that belong together: all of them happen, or none.
//!
//! `cargo run -p evenkeel --features cache,queue,sqlite --example unit_of_work`
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::queue::JobId;
use evenkeel::sql::migrate;
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;
use std::time::Duration;

type Failure = Box<dyn std::error::Error>;

async fn name_of(users: &Cache<i64, String>, db: &SqlitePool) -> Result<String, Failure> {
    let db = db.clone();
    let load = async move { sqlx::query_scalar("SELECT name FROM users WHERE id = 42").fetch_optional(&db).await };
    Ok(users.get(&42, |_| load).await?.map(|name| name.to_string()).unwrap_or_default())
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
    sqlx::query("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL)").execute(&db).await?;
    sqlx::query("INSERT INTO users (id, name) VALUES (42, 'Augusta')").execute(&db).await?;
    migrate(&db).await?; // the library's own tables, once when the program starts

    let keel = Keel::memory();
    let users = keel.cache::<i64, String>("user").ttl(Duration::from_secs(600)).open().await?;
    let mail = keel.queue::<String>("mail").open().await?;
    println!("cached: {}", name_of(&users, &db).await?);

    // First a unit of work that is rolled back.
    let mut work = keel.begin(&db).await?;
    sqlx::query("UPDATE users SET name = 'Nobody' WHERE id = 42").execute(work.tx()).await?;
    work.invalidate(&users, &42)?;
    let never: JobId = work.enqueue(mail.job(&"your name has changed".to_owned()))?;
    work.rollback().await?;
    println!("after the rollback: {}, job: {}", name_of(&users, &db).await?, mail.find(&never).await?.is_some());

    // Then one that commits. Should the process die right after the commit, a relay does the rest.
    let mut work = keel.begin(&db).await?;
    sqlx::query("UPDATE users SET name = 'Ada' WHERE id = 42").execute(work.tx()).await?;
    work.invalidate(&users, &42)?;
    let job = work.enqueue(mail.job(&"your name has changed".to_owned()).delay(Duration::from_secs(300)))?;
    match work.commit().await {
        Ok(committed) => println!("committed; carried out at once: {}", committed.carried_out),
        Err(error) if error.is_retryable() => println!("nothing happened; do it again: {error}"),
        Err(error) => return Err(error.into()),
    }
    println!("after the commit: {}, job: {}", name_of(&users, &db).await?, mail.find(&job).await?.is_some());
    Ok(())
}
