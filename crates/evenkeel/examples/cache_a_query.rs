//! Cache a query: the rows of a table are read through the cache, and a write invalidates the one row it changed.
//!
//! `cargo run -p evenkeel --features cache --example cache_a_query`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use serde::{Deserialize, Serialize};
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;
use std::time::Duration;

#[derive(Debug, Serialize, Deserialize)]
struct User {
    id: i64,
    name: String,
}

/// The query. It owns what it needs: a load may outlive the reader that requested it, because others wait for it too.
async fn find_user(db: SqlitePool, id: i64) -> Result<Option<User>, sqlx::Error> {
    println!("  (asking the database for {id})");
    let row = sqlx::query_as("SELECT id, name FROM users WHERE id = ?").bind(id).fetch_optional(&db).await?;
    Ok(row.map(|(id, name)| User { id, name }))
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
    sqlx::query("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL)").execute(&db).await?;
    sqlx::query("INSERT INTO users (id, name) VALUES (42, 'Ada')").execute(&db).await?;

    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };
    let users = keel.cache::<i64, User>("user").ttl(Duration::from_secs(600)).open().await?;
    users.purge(&42).await?; // what an earlier run left on a Redis
    users.purge(&7).await?;

    for _ in 0..2 {
        let user = users.get(&42, |id| find_user(db.clone(), *id)).await?;
        println!("42 is {}", user.map_or("not found".to_owned(), |user| user.name.clone()));
    }

    sqlx::query("UPDATE users SET name = 'Ada Lovelace' WHERE id = 42").execute(&db).await?;
    users.invalidate(&42).await?; // right after the commit
    let user = users.get(&42, |id| find_user(db.clone(), *id)).await?;
    println!("42 is {}", user.map_or("not found".to_owned(), |user| user.name.clone()));

    for _ in 0..2 {
        let missing = users.get(&7, |id| find_user(db.clone(), *id)).await?;
        println!("7 is {}", missing.map_or("not found", |_| "found"));
    }
    Ok(())
}
