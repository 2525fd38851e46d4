//! A row that is changed by plain SQL, as from a shell or another service, is not served from the cache any longer.
//!
//! `cargo run -p evenkeel --features cache,cdc,sqlite --example capture_changes`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::cdc::Changed;
use evenkeel::cdc::source::ChangeTable;
use evenkeel::sql::migrate;
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

async fn name_of(names: &Cache<i64, String>, db: &SqlitePool, id: i64) -> Result<String, Box<dyn std::error::Error>> {
    let db = db.clone();
    let load = |id: &i64| {
        let query = sqlx::query_scalar("SELECT name FROM users WHERE id = ?").bind(*id);
        async move { query.fetch_optional(&db).await }
    };
    let name = names.get(&id, load).await?;
    Ok(name.map_or_else(|| "nobody".to_owned(), |name| name.to_string()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };
    // One connection, which is never closed, is the database; or MySqlPool, PgPool with another source.
    let options = SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
    let db = options.connect("sqlite::memory:").await?;
    sqlx::raw_sql("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)").execute(&db).await?;
    migrate(&db).await?; // the library's own tables
    let source = ChangeTable::new(&db).table("users", ["id"]);
    source.install().await?; // triggers: from now on every change of the table is noted, whoever makes it

    let names = keel.cache::<i64, String>("name").ttl(Duration::from_secs(600)).open().await?;
    let changed = Arc::new(Notify::new());
    let notify = Arc::clone(&changed);
    // The rules of a table take effect in their order: when the function is called, the entry is invalidated.
    let capture = keel.cdc("main", &db, source).table("users", |rule| {
        let call = move |change: Changed| {
            println!("captured: {:?}", change.kind);
            notify.notify_one();
            async { Ok::<_, std::io::Error>(()) }
        };
        rule.cache(&names).key("id").call("print", call).key("id")
    });

    let admin = keel.cdc_admin("main", &db);
    let story = async {
        // The first start begins at the end of the log.
        while admin.status().await?.is_none_or(|status| status.position.is_none()) {
            tokio::task::yield_now().await;
        }
        for statement in
            ["INSERT INTO users VALUES (42, 'Ada')", "UPDATE users SET name = 'Grace'", "DELETE FROM users"]
        {
            sqlx::raw_sql(statement).execute(&db).await?;
            changed.notified().await;
            println!("{}", name_of(&names, &db, 42).await?);
        }
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    let (done, finished) = tokio::sync::oneshot::channel();
    let shutdown = async {
        let _ = finished.await;
    };
    let story = async {
        let ended = story.await;
        let _ = done.send(());
        ended
    };
    let (captured, told) = tokio::join!(capture.run(shutdown), story);
    captured?;
    told?;
    keel.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
