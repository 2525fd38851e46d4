//! The search for overdue orders and payments: one that cannot be ended keeps no other from its turn.

use super::support::in_process::{assert_sound, open_at, receive};
use evenkeel::Keel;
use evenkeel::stream::EntryId;
use evenkeel::testing::TestClock;
use sqlx::{MySqlPool, PgPool, SqlitePool};
use std::time::Duration;
use stockroom::domain::{IdempotencyKey, Strategy, TestCard};
use stockroom::service::{Searched, Service};
use stockroom::store::{OrderState, PaymentState};
use testkit::park::{mariadb_database, postgres_database, sqlite_database};

/// How long orders may be unpaid in these tests.
const PAY_WITHIN: Duration = Duration::from_secs(1);

/// An order is overdue for the search this long after its creation.
const OVERDUE: Duration = Duration::from_secs(7);

/// A search finds an order again after this time.
const ORDER_PAUSE: Duration = Duration::from_secs(10);

/// A search appends a payment, and appends it again, after this time.
const PENDING: Duration = Duration::from_secs(61);

/// The most orders of one search.
const SEARCH_MAX: usize = 100;

/// A stockroom whose background tasks do not run: only searches end orders.
struct Stockroom {
    service: Service,
    keel: Keel,
    clock: TestClock,
    url: String,
}

impl Stockroom {
    /// Each product has as much stock as the limit allows.
    async fn open(url: &str, cap: i64, products: &[&str]) -> Self {
        let (keel, clock) = (Keel::memory(), TestClock::default());
        let service = open_at(url, &keel, clock.clock(), Some(PAY_WITHIN), |context| context.cap = cap).await;
        for product in products {
            service.add_product(product).await.unwrap();
            receive(&service, product, cap, Strategy::ConditionalUpdate).await.unwrap();
        }
        Self { service, keel, clock, url: url.to_owned() }
    }

    async fn reserve(&self, product: &str) -> String {
        self.service.reserve(product, 1, None).await.unwrap().order.id
    }

    async fn state(&self, order: &str) -> OrderState {
        self.service.order(order).await.unwrap().state
    }

    /// Executes a statement on a connection of its own.
    async fn execute(&self, sql: &'static str) {
        let url = &self.url;
        match url.split_once(':').unwrap().0 {
            "sqlite" => drop(sqlx::query(sql).execute(&SqlitePool::connect(url).await.unwrap()).await.unwrap()),
            "mysql" => drop(sqlx::query(sql).execute(&MySqlPool::connect(url).await.unwrap()).await.unwrap()),
            _ => drop(sqlx::query(sql).execute(&PgPool::connect(url).await.unwrap()).await.unwrap()),
        }
    }

    /// The number of entries in the stream of payments.
    async fn entries(&self) -> usize {
        let stream = self.keel.stream_admin("order-payments").await.unwrap();
        let mut entries = 0;
        for partition in 0..stream.partitions() {
            entries += stream.peek(partition, EntryId::MIN, 100).await.unwrap().len();
        }
        entries
    }
}

/// The row of the stock of the first order's product is damaged, so that its goods cannot return.
async fn goes_on(url: &str) {
    let stockroom = Stockroom::open(url, 10, &["broken", "sound"]).await;
    let broken = stockroom.reserve("broken").await;
    stockroom.clock.advance(Duration::from_millis(1));
    let sound = stockroom.reserve("sound").await;
    let damage = "DELETE FROM stocks WHERE commodity_id = (SELECT id FROM commodities WHERE name = 'broken')";
    stockroom.execute(damage).await;
    assert_eq!(stockroom.service.search_once().await.unwrap(), Searched::default(), "no order is overdue yet");
    stockroom.clock.advance(OVERDUE);
    let searched = stockroom.service.search_once().await.unwrap();
    assert_eq!(searched, Searched { expired: 1, failed: 1, ..Searched::default() });
    assert_eq!(stockroom.state(&broken).await, OrderState::Reserved);
    assert_eq!(stockroom.state(&sound).await, OrderState::Expired);
    assert_sound(&stockroom.service, "sound", 10).await;
    assert_eq!(stockroom.service.search_once().await.unwrap(), Searched::default(), "another search has looked at it");
    stockroom.clock.advance(ORDER_PAUSE);
    let searched = stockroom.service.search_once().await.unwrap();
    assert_eq!(searched, Searched { failed: 1, ..Searched::default() }, "it is looked at again");
}

// shows: O5, hazard S22
#[tokio::test]
async fn search_goes_on_after_a_failing_order_on_sqlite() {
    goes_on(&sqlite_database().unwrap().url).await;
}

// shows: O5
#[tokio::test]
async fn search_goes_on_after_a_failing_order_on_mariadb() {
    goes_on(&mariadb_database().await.unwrap().url).await;
}

// shows: O5
#[tokio::test]
async fn search_goes_on_after_a_failing_order_on_postgres() {
    goes_on(&postgres_database().await.unwrap().url).await;
}

/// As many orders as one search looks at cannot return their goods, because the stock is full again. The next one has its turn.
// shows: O5, hazard S22
#[tokio::test]
async fn orders_above_the_limit_do_not_starve_the_search() {
    let database = sqlite_database().unwrap();
    let cap = i64::try_from(SEARCH_MAX).unwrap();
    let stockroom = Stockroom::open(&database.url, cap, &["full", "free"]).await;
    for _ in 0..SEARCH_MAX {
        stockroom.reserve("full").await;
    }
    receive(&stockroom.service, "full", cap, Strategy::ConditionalUpdate).await.unwrap();
    stockroom.clock.advance(Duration::from_millis(1));
    let last = stockroom.reserve("free").await;
    stockroom.clock.advance(OVERDUE);
    let searched = stockroom.service.search_once().await.unwrap();
    assert_eq!(searched, Searched { full: SEARCH_MAX, is_partial: true, ..Searched::default() });
    assert_eq!(stockroom.state(&last).await, OrderState::Reserved);
    stockroom.clock.advance(ORDER_PAUSE);
    let searched = stockroom.service.search_once().await.unwrap();
    assert_eq!(searched, Searched { expired: 1, full: SEARCH_MAX - 1, is_partial: true, ..Searched::default() });
    assert_eq!(stockroom.state(&last).await, OrderState::Expired);
    assert_sound(&stockroom.service, "free", cap).await;
}

/// The entry of a payment is lost (no relay runs): the search appends another one each minute. A payment that cannot be read does not hide
/// the others.
async fn appends(url: &str) {
    let stockroom = Stockroom::open(url, 10, &["tea"]).await;
    let order = stockroom.reserve("tea").await;
    let key = IdempotencyKey::parse("k").unwrap();
    let payment = stockroom.service.pay(&order, &key, TestCard::Approved).await.unwrap();
    let other = stockroom.reserve("tea").await;
    stockroom.service.pay(&other, &key, TestCard::Declined).await.unwrap();
    stockroom.execute("UPDATE payments SET card = 'gold' WHERE card = 'declined'").await;
    assert_eq!(stockroom.service.search_once().await.unwrap(), Searched::default());
    assert_eq!(stockroom.entries().await, 0);
    for round in 1..=2 {
        stockroom.clock.advance(PENDING);
        let searched = stockroom.service.search_once().await.unwrap();
        assert_eq!(searched, Searched { appended: 2, ..Searched::default() });
        assert_eq!(
            stockroom.service.search_once().await.unwrap(),
            Searched::default(),
            "another search has appended it"
        );
        assert_eq!(stockroom.entries().await, 2 * round);
    }
    let read = stockroom.service.payment(&payment.id).await.unwrap();
    assert_eq!((read.state, read.updated_at), (PaymentState::Pending, payment.updated_at), "a search changes no state");
}

// shows: O5, hazard S22
#[tokio::test]
async fn lost_payments_are_appended_again_on_sqlite() {
    appends(&sqlite_database().unwrap().url).await;
}

// shows: O5
#[tokio::test]
async fn lost_payments_are_appended_again_on_mariadb() {
    appends(&mariadb_database().await.unwrap().url).await;
}

// shows: O5
#[tokio::test]
async fn lost_payments_are_appended_again_on_postgres() {
    appends(&postgres_database().await.unwrap().url).await;
}
