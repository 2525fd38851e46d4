//! A page at once: the rows of a page are read through the cache in one round trip, and missing rows are loaded in one
//! query; a key that fails does not affect the others.
//!
//! `cargo run -p evenkeel --features cache --example batch`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::cache::Incomplete;
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{QueryBuilder, SqlitePool};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// One query for all that the cache does not have. The rows that it does not return do not exist, and that is cached, too.
async fn find_titles(db: SqlitePool, ids: Vec<i64>) -> Result<Vec<(i64, String)>, sqlx::Error> {
    println!("  (asking the database for {ids:?})");
    let mut query = QueryBuilder::new("SELECT id, title FROM books WHERE id IN (");
    let mut list = query.separated(", ");
    ids.iter().for_each(|id| _ = list.push_bind(id));
    query.push(")").build_query_as().fetch_all(&db).await
}

fn show(ids: &[i64], page: &HashMap<i64, Option<Arc<String>>>) {
    let titles =
        ids.iter().filter_map(|id| page.get(id).map(|title| title.as_ref().map_or("-", |title| title.as_str())));
    println!("{}", titles.collect::<Vec<_>>().join(" | "));
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
    sqlx::query("CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT NOT NULL)").execute(&db).await?;
    sqlx::query("INSERT INTO books VALUES (1, 'Emma'), (2, 'Dracula'), (3, 'Ivanhoe'), (4, 'Candide')")
        .execute(&db)
        .await?;

    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };
    let books = keel.cache::<i64, String>("book").ttl(Duration::from_secs(600)).open().await?;
    books.invalidate_many(&[1, 2, 3, 4, 9]).await?; // what an earlier run left on a Redis

    for ids in [[1, 2, 9], [1, 2, 3], [3, 9, 2]] {
        show(&ids, &books.get_many(&ids, |missing| find_titles(db.clone(), missing)).await?);
    }

    // Two rows change in one transaction: commit, then invalidate both at once.
    let mut transaction = db.begin().await?;
    sqlx::query("UPDATE books SET title = upper(title) WHERE id IN (2, 3)").execute(&mut *transaction).await?;
    transaction.commit().await?;
    books.invalidate_many(&[2, 3]).await?;
    show(&[1, 2, 3], &books.get_many(&[1, 2, 3], |missing| find_titles(db.clone(), missing)).await?);

    // The database goes away. What is cached is there all the same, and the rest says why it is not.
    db.close().await;
    let ids = [1, 2, 4];
    match books.get_many(&ids, |missing| find_titles(db.clone(), missing)).await {
        Ok(page) => show(&ids, &page),
        Err(partial @ Incomplete { .. }) => {
            show(&ids, &partial.found);
            println!("{partial}");
        }
    }
    Ok(())
}
