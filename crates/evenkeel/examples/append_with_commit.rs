//! An order and its events in one transaction: the events reach the log if, and only if, the transaction commits, in the order of the
//! commits; and a consumer whose handler runs twice for an event charges once.
//!
//! `cargo run -p evenkeel --features stream,sqlite --example append_with_commit`
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::sql::{Inbox, Once};
use evenkeel::stream::{Entry, OnFailure, RetryDelay, Stream};
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{Sqlite, SqlitePool};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Changes the order, and appends what has happened.
async fn change(keel: &Keel, db: &SqlitePool, orders: &Stream<String>, state: &str) -> Result<(), Box<dyn Error>> {
    let mut work = keel.begin(db).await?;
    sqlx::query("UPDATE orders SET state = ? WHERE id = 7").bind(state).execute(work.tx()).await?;
    work.append(orders.entry("order/7", &state.to_owned()))?;
    work.commit().await?;
    Ok(())
}

/// The effect and the note that it has happened, in one transaction.
async fn bill(inbox: &Inbox<Sqlite>, db: &SqlitePool, event: &Entry<String>) -> Result<(), Box<dyn Error>> {
    let mut transaction = db.begin().await?;
    // The name of the event, not its id: an entry that Redis lost and that is appended again has another id.
    let name = format!("{}/{}", String::from_utf8_lossy(&event.key), event.value);
    match inbox.once(&mut transaction, "billing", name).await? {
        Once::Fresh => {
            let bill = sqlx::query("UPDATE orders SET billed = billed + 1 WHERE id = 7");
            bill.execute(&mut *transaction).await?;
            println!("{}: billed", event.value);
        }
        other => println!("{}: nothing to do: {other:?}", event.value),
    }
    transaction.commit().await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // The database is this one connection, so it is never closed.
    let db = SqlitePoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect("sqlite::memory:")
        .await?;
    sqlx::query("CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT NOT NULL, billed INTEGER NOT NULL)")
        .execute(&db)
        .await?;
    sqlx::query("INSERT INTO orders (id, state, billed) VALUES (7, 'new', 0)").execute(&db).await?;
    evenkeel::sql::migrate(&db).await?;

    let keel = Keel::memory();
    let orders: Stream<String> = keel.stream("orders").open().await?;
    change(&keel, &db, &orders, "placed").await?;
    change(&keel, &db, &orders, "paid").await?;

    // A service runs its relay until it ends: `relay.run(shutdown)`.
    let relay = keel.relay(&db);
    while !relay.run_once().await?.is_idle() {}

    let (inbox, finished) = (keel.inbox(&db), Arc::new(Notify::new()));
    let (pool, notify) = (db.clone(), Arc::clone(&finished));
    let group = orders.group("billing").per_key(OnFailure::BlockKey).retry_delay(RetryDelay::fixed(Duration::ZERO));
    let consumer = group.handle(move |event: Entry<String>| {
        let (inbox, db, notify) = (inbox.clone(), pool.clone(), Arc::clone(&notify));
        async move {
            bill(&inbox, &db, &event).await.map_err(|error| error.to_string())?;
            if event.attempt == 1 {
                // As if the process had died between its commit and the settlement.
                return Err("the settlement was lost".to_owned());
            }
            if event.value == "paid" {
                notify.notify_one();
            }
            Ok(())
        }
    });
    consumer.run(finished.notified()).await?;

    let billed: i64 = sqlx::query_scalar("SELECT billed FROM orders WHERE id = 7").fetch_one(&db).await?;
    println!("billed {billed} times for 2 events");
    Ok(())
}
