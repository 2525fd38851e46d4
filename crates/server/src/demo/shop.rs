//! [`Shop`]: the keel, the database, and what the shop opens on them.

use super::events::Event;
use super::{events, trade, work};
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::clock::Clock;
use evenkeel::queue::{Queue, RetryDelay};
use evenkeel::sql::migrate;
use evenkeel::stream::Stream;
use serde::{Deserialize, Serialize};
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The number of products.
pub(super) const PRODUCTS: i64 = 200;
/// How long completion records are kept, which bounds the memory of a demo that runs for days.
const ID_WINDOW: Duration = Duration::from_secs(600);

/// How long entries of the stream are kept, for the same reason.
const RETENTION: Duration = Duration::from_secs(300);

/// The made-up shop.
pub(super) struct Shop {
    pub(super) keel: Keel,
    pub(super) db: SqlitePool,
    pub(super) clock: Clock,
    pub(super) products: Cache<i64, Product>,
    pub(super) mail: Queue<Mail>,
    pub(super) images: Queue<Image>,
    pub(super) newsletter: Queue<Mail>,
    pub(super) reminders: Queue<Mail>,
    pub(super) reports: Queue<String>,
    pub(super) events: Stream<Event>,
}

/// A product, as the cache keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Product {
    pub(super) name: String,
    pub(super) cents: i64,
    pub(super) stock: i64,
}

/// A letter to a customer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Mail {
    pub(super) order: u64,
    pub(super) to: String,
    pub(super) template: String,
}

/// A picture to shrink.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Image {
    pub(super) product: i64,
    pub(super) width: u32,
}

impl Shop {
    pub(super) async fn open(keel: Keel) -> Result<Self> {
        // The database is this one connection, so it must never be closed.
        let options = SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
        let db = options.connect("sqlite::memory:").await?;
        migrate(&db).await?;
        for statement in [
            "CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, cents INTEGER NOT NULL, stock INTEGER NOT NULL)",
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, product INTEGER NOT NULL, customer TEXT NOT NULL)",
        ] {
            sqlx::query(statement).execute(&db).await?;
        }
        for id in 0..PRODUCTS {
            let insert = sqlx::query("INSERT INTO products (id, name, cents, stock) VALUES (?, ?, ?, 500)");
            insert.bind(id).bind(format!("Product {id}")).bind(499 + id * 25).execute(&db).await?;
        }
        let delay = RetryDelay::fixed(Duration::from_secs(2));
        let shop = Self {
            products: keel.cache("product").ttl(Duration::from_secs(60)).open().await?,
            mail: keel.queue("order-mail").retries(2).retry_delay(delay).id_window(ID_WINDOW).open().await?,
            images: keel.queue("images").retries(3).open().await?,
            newsletter: keel.queue("newsletter").open().await?,
            reminders: keel.queue("reminders").open().await?,
            reports: keel.queue("reports").open().await?,
            events: keel.stream("order-events").partitions(4).retention(RETENTION).open().await?,
            clock: Clock::system(),
            keel,
            db,
        };
        trade::troubles(&shop).await?;
        Ok(shop)
    }

    /// Starts everything that goes on in the shop. The tasks end with `stopped`, or when they are aborted.
    pub(super) fn run(self: &Arc<Self>, stopped: &watch::Receiver<bool>) -> Vec<JoinHandle<()>> {
        let mut tasks = vec![
            task("orders", trade::orders(Arc::clone(self))),
            task("readers", trade::readers(Arc::clone(self))),
            task("leader", work::lead(Arc::clone(self))),
            task("consumers", work::consume(Arc::clone(self), stopped.clone())),
            task("schedules", work::schedule(Arc::clone(self), stopped.clone())),
            task("relay", trade::relay(Arc::clone(self), stopped.clone())),
            task("events", events::append(Arc::clone(self))),
            task("groups", events::handle(Arc::clone(self), stopped.clone())),
        ];
        tasks.extend((1..=3).map(|packer| task("packer", work::pack(Arc::clone(self), packer))));
        tasks
    }
}

/// A task whose error is logged: the rest of the shop goes on.
fn task(name: &'static str, work: impl Future<Output = Result<()>> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(async move {
        if let Err(error) = work.await {
            tracing::error!(name, %error, "a part of the demo has stopped");
        }
    })
}
