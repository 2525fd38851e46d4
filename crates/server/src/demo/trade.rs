//! Orders, the readers of the cache, the relay, and what went wrong before the shop opened.

use super::shop::{Image, Mail, PRODUCTS, Product, Shop};
use anyhow::Result;
use evenkeel::clock::UnixMs;
use evenkeel::sql::sink::{Confirmed, Envelope, Sink, SinkError, Sinks};
use evenkeel::sql::{Message, MessageId};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use web::stopping;

/// Every demo has the same orders.
const SEED: u64 = 42;
const ORDER_EVERY: Duration = Duration::from_millis(50);
const READ_EVERY: Duration = Duration::from_millis(10);
/// Orders that are kept.
const ORDERS_MAX: i64 = 10_000;
/// Letters of the paused topic.
const LETTERS: u64 = 480;
/// Attempts after which the relay parks a unit of work.
const ATTEMPTS_MAX: u32 = 3;
const DAY: Duration = Duration::from_secs(86_400);

/// Takes an order every 50 ms.
pub(super) async fn orders(shop: Arc<Shop>) -> Result<()> {
    let mut rng = StdRng::seed_from_u64(SEED);
    for order in 1.. {
        take(&shop, order, popular(&mut rng)).await?;
        shop.clock.sleep(ORDER_EVERY).await;
    }
    Ok(())
}

/// One order: the rows, the invalidation, the letter and the message, all of them or none.
async fn take(shop: &Shop, order: u64, product: i64) -> Result<()> {
    let customer = format!("customer-{}@shop.example", order % 500);
    let mail = Mail { order, to: customer.clone(), template: "order-confirmed".to_owned() };
    let id = i64::try_from(order)?;
    let mut work = shop.keel.begin(&shop.db).await?;
    let insert = sqlx::query("INSERT INTO orders (id, product, customer) VALUES (?, ?, ?)");
    insert.bind(id).bind(product).bind(&customer).execute(work.tx()).await?;
    sqlx::query("DELETE FROM orders WHERE id <= ?").bind(id - ORDERS_MAX).execute(work.tx()).await?;
    let update = "UPDATE products SET stock = CASE WHEN stock > 1 THEN stock - 1 ELSE 500 END WHERE id = ?";
    sqlx::query(update).bind(product).execute(work.tx()).await?;
    work.invalidate(&shop.products, &product)?;
    work.enqueue(shop.mail.job(&mail).delay(Duration::from_secs(1)))?;
    let sold = Message::new("orders", serde_json::json!({ "order": order, "product": product }).to_string());
    work.publish(sold.key(format!("product/{product}")))?;
    work.commit().await?;
    if order.is_multiple_of(3) {
        shop.images.now(&Image { product, width: 640 }).await?;
    }
    if order.is_multiple_of(600) {
        // Pictures of a whole catalog arrive at once, more than two slots can handle for a while.
        for product in 0..PRODUCTS / 2 {
            shop.images.now(&Image { product, width: 1_280 }).await?;
        }
    }
    if order.is_multiple_of(40) {
        shop.reminders.delay(DAY, &Mail { template: "cart-reminder".to_owned(), ..mail }).await?;
    }
    Ok(())
}

/// Reads products through the cache: a few of them most of the time.
pub(super) async fn readers(shop: Arc<Shop>) -> Result<()> {
    let mut rng = StdRng::seed_from_u64(SEED + 1);
    loop {
        let (product, db) = (popular(&mut rng), shop.db.clone());
        let load = async move {
            let row: Option<(String, i64, i64)> =
                sqlx::query_as("SELECT name, cents, stock FROM products WHERE id = ?")
                    .bind(product)
                    .fetch_optional(&db)
                    .await?;
            Ok::<_, sqlx::Error>(row.map(|(name, cents, stock)| Product { name, cents, stock }))
        };
        shop.products.get(&product, |_| load).await?;
        shop.clock.sleep(READ_EVERY).await;
    }
}

/// A product; low numbers are popular.
fn popular(rng: &mut StdRng) -> i64 {
    let part = rng.random_range(0.0..1.0_f64).powi(3);
    #[expect(clippy::cast_possible_truncation, reason = "the product is below the number of products")]
    let product = (part * PRODUCTS as f64) as i64;
    product
}

/// What needs an operator from the first moment on. Before the relay runs, so that each message is tried once.
pub(super) async fn troubles(shop: &Shop) -> Result<()> {
    for number in 0..LETTERS {
        let to = format!("customer-{number}@shop.example");
        shop.newsletter.now(&Mail { order: number, to, template: "newsletter".to_owned() }).await?;
    }
    shop.newsletter.topic().pause(None).await?;
    let mut work = shop.keel.begin(&shop.db).await?;
    work.publish(Message::new("partner-feed", r#"{"sku":"17","price":"4,99"}"#))?;
    work.commit().await?;
    let mut work = shop.keel.begin(&shop.db).await?;
    work.publish(Message::new("partner-feed", r#"{"sku":"18","price":"5,24"}"#).key("sku/18"))?;
    work.commit().await?;
    // A payment whose notification arrives a month late.
    let late = UnixMs(shop.clock.unix_ms().saturating_sub(30 * 86_400_000));
    let mut transaction = shop.db.begin().await?;
    let inbox = shop.keel.inbox(&shop.db);
    inbox.once(&mut transaction, "billing", MessageId::from("payment/4711").sent_at(late)).await?;
    transaction.commit().await?;
    Ok(())
}

pub(super) async fn relay(shop: Arc<Shop>, stopped: watch::Receiver<bool>) -> Result<()> {
    let relay = shop.keel.relay(&shop.db).sinks(Sinks::to(Partners::default())).attempts_max(ATTEMPTS_MAX);
    relay.retention(Duration::from_secs(600)).run(stopping(&stopped)).await;
    Ok(())
}

/// The receivers of messages. The partner rejects both messages until they are parked; a released one is accepted.
#[derive(Default)]
struct Partners {
    rejected: AtomicU32,
    rejected_with_key: AtomicU32,
}

impl Sink for Partners {
    async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
        // A key is parked at once, a unit of work after its attempts.
        let (rejected, until) =
            if message.order.is_some() { (&self.rejected_with_key, 1) } else { (&self.rejected, ATTEMPTS_MAX) };
        if message.topic == "partner-feed" && rejected.fetch_add(1, Ordering::Relaxed) < until {
            return Err(SinkError::Poison("the partner rejects the price: it has a comma".to_owned()));
        }
        Ok(Confirmed::Accepted)
    }
}
