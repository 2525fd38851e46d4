//! An exactly-once effect: a job that runs twice charges once, because its handler asks the inbox in its own transaction.
//!
//! `cargo run -p evenkeel --features queue,sqlite --example exactly_once_effect`
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::queue::{Delivery, RetryDelay};
use evenkeel::sql::{Inbox, Once};
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{Sqlite, SqlitePool};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Charge {
    payment: u64,
    cents: i64,
}

/// The effect and the note that it has happened, in one transaction.
async fn charge(inbox: &Inbox<Sqlite>, db: &SqlitePool, charge: &Charge) -> Result<(), Box<dyn std::error::Error>> {
    let mut transaction = db.begin().await?;
    // The name of the message: the same in every delivery, and in everything that was sent twice.
    match inbox.once(&mut transaction, "accounts", format!("payment/{}", charge.payment)).await? {
        Once::Fresh => {
            let update = sqlx::query("UPDATE accounts SET cents = cents - ? WHERE id = 1").bind(charge.cents);
            update.execute(&mut *transaction).await?;
            println!("charged {} cents", charge.cents);
        }
        other => println!("nothing to do: {other:?}"),
    }
    // First the commit; the acknowledgement is the handler's `Ok`, after it.
    transaction.commit().await?;
    Ok(())
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
    evenkeel::sql::migrate(&db).await?;

    let keel = Keel::memory();
    let inbox = keel.inbox(&db);
    let delay = RetryDelay::fixed(Duration::from_millis(10));
    let charges = keel.queue::<Charge>("charges").retry_delay(delay).open().await?;
    charges.now(&Charge { payment: 7, cents: 30 }).await?;

    let acknowledged = Arc::new(Notify::new());
    let (notify, pool) = (Arc::clone(&acknowledged), db.clone());
    let consumer = charges.consume(move |job: Delivery<Charge>| {
        let (notify, inbox, db) = (Arc::clone(&notify), inbox.clone(), pool.clone());
        async move {
            charge(&inbox, &db, &job.body).await.map_err(|error| error.to_string())?;
            if job.attempt == 1 {
                // As if the process had died between its commit and its acknowledgement.
                return Err("the acknowledgement was lost".to_owned());
            }
            println!("acknowledged, attempt {}", job.attempt);
            notify.notify_one();
            Ok(())
        }
    });
    consumer.run(acknowledged.notified()).await?;

    let cents: i64 = sqlx::query_scalar("SELECT cents FROM accounts WHERE id = 1").fetch_one(&db).await?;
    println!("left: {cents} cents");
    Ok(())
}
