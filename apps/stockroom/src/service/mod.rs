//! The use cases: what HTTP, the page and the load command call.

mod error;

pub use error::ServiceError;

use crate::domain::{Cause, Change, Day, Days, Name, PageRequest, Strategy};
use crate::store::{Arrival, ArrivalsWanted, Audit, Listed, Order, OrderState, Product, Store, StoreError, with_pools};
use crate::strategy::{self, Changed, Tools};
use evenkeel::Keel;
use metrics::{Counter, counter, describe_counter};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// The most of anything in one request: no sum of a million of them overflows.
pub const QUANTITY_MAX: i64 = 1_000_000;

/// What [`Service::add_samples`] adds.
const SAMPLES: [(&str, i64); 3] = [("apples", 120), ("coffee", 40), ("paper", 600)];

/// What is on its way to Redis at the end may take this long.
const KEEL_PATIENCE: Duration = Duration::from_secs(1);

/// What the service is told beside its store.
#[derive(Clone)]
pub struct Rules {
    /// The strategy of requests that name none.
    pub strategy: Strategy,
    /// Whether requests may ask for the demonstration of what goes wrong.
    pub allow_unfenced: bool,
    /// Which day a moment belongs to.
    pub days: Days,
}

/// The stockroom. Cheap to clone.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    store: Store,
    keel: Keel,
    tools: Tools,
    rules: Rules,
    counters: Counters,
}

/// Goods that arrive, as a client tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArrival {
    /// The product.
    pub commodity_name: String,
    /// How many.
    pub quantity: i64,
    /// The day; today unless it is named.
    pub day: Option<Day>,
}

/// What became of an arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The product.
    pub commodity_name: String,
    /// Day of the arrival.
    pub day: Day,
    /// How many arrived that day so far.
    pub quantity: i64,
    /// Number of deliveries.
    pub deliveries: i64,
    /// Locking strategy that was used.
    pub strategy: Strategy,
    /// The change of the stock.
    pub changed: Changed,
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// The order.
    pub order: Order,
    /// Locking strategy that was used.
    pub strategy: Strategy,
    /// The change of the stock; `None` if there was nothing left to do.
    pub changed: Option<Changed>,
}

impl Service {
    /// A stockroom over `store`, with what the strategies work with.
    ///
    /// # Errors
    /// [`ServiceError::Store`]: stocks that are split by another cap than this one could not be made whole.
    pub async fn open(store: Store, keel: Keel, tools: Tools, rules: Rules) -> Result<Self, ServiceError> {
        let now_ms = signed(store.now_ms());
        with_pools!(store, pools => strategy::join_other_caps(pools, tools.cap, now_ms).await)?;
        Ok(Self(Arc::new(Inner { store, keel, tools, rules, counters: Counters::register() })))
    }

    /// Lets what is on its way to Redis arrive, and closes all connections.
    pub async fn close(&self) {
        self.0.keel.shutdown(KEEL_PATIENCE).await;
        if let Some(redlock) = &self.0.tools.redlock {
            redlock.shutdown(KEEL_PATIENCE).await;
        }
        self.0.store.close().await;
    }

    /// Adds a product without stock.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a name that is none; [`StoreError::NameTaken`].
    pub async fn add_product(&self, name: &str) -> Result<Product, ServiceError> {
        let name = Name::parse(name).map_err(|why| ServiceError::invalid("name", &why))?;
        Ok(self.0.store.add_product(&name).await?)
    }

    /// Adds some products with stock, to try things out. Those that are there already stay as they are.
    ///
    /// # Errors
    /// As [`add_product`](Self::add_product) and [`arrive`](Self::arrive).
    pub async fn add_samples(&self) -> Result<(), ServiceError> {
        for (name, quantity) in SAMPLES {
            match self.add_product(name).await {
                Err(ServiceError::Store(StoreError::NameTaken(_))) => continue,
                added => added?,
            };
            let quantity = quantity.min(self.cap());
            self.arrive(&NewArrival { commodity_name: name.to_owned(), quantity, day: None }, None).await?;
        }
        Ok(())
    }

    /// The product of this number.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn product(&self, id: i64) -> Result<Option<Product>, ServiceError> {
        Ok(self.0.store.product(id).await?)
    }

    /// One page of the products with their stock, by name.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn products(&self, page: PageRequest) -> Result<Listed<Product>, ServiceError> {
        Ok(self.0.store.products(page).await?)
    }

    /// Takes goods in: what arrived of a product on one day is one row, which the first makes and the others add to; the stock
    /// grows in the same transaction.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`], [`ServiceError::UnknownProduct`], [`ServiceError::Change`].
    pub async fn arrive(&self, new: &NewArrival, wanted: Option<Strategy>) -> Result<Arrived, ServiceError> {
        let quantity = checked(new.quantity)?;
        let strategy = self.strategy(wanted)?;
        let product = self.named(&new.commodity_name).await?;
        let day = new.day.unwrap_or_else(|| self.today());
        let changed = self.change(product.id, quantity, Cause::Arrival(day), strategy, self.now_ms()).await?;
        let (quantity, deliveries) = changed.arrived.unwrap_or((quantity, 1));
        Ok(Arrived { commodity_name: product.name, day, quantity, deliveries, strategy, changed })
    }

    /// One page of what arrived, newest first. `commodity_name` must be a product's if it is given.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for an end before the start; [`ServiceError::UnknownProduct`]; [`ServiceError::Store`].
    pub async fn arrivals(
        &self,
        start: Option<Day>,
        end: Option<Day>,
        commodity_name: Option<&str>,
        page: PageRequest,
    ) -> Result<Listed<Arrival>, ServiceError> {
        if let (Some(start), Some(end)) = (start, end)
            && end < start
        {
            let why = format!("The end, {end}, is before the start, {start}.");
            return Err(ServiceError::Invalid { field: "endDate", why });
        }
        let commodity = match commodity_name {
            Some(name) => Some(self.named(name).await?.id),
            None => None,
        };
        Ok(self.0.store.arrivals(&ArrivalsWanted { start, end, commodity }, page).await?)
    }

    /// Takes goods aside for an order.
    ///
    /// # Errors
    /// As [`arrive`](Self::arrive).
    pub async fn reserve(
        &self,
        commodity_name: &str,
        quantity: i64,
        wanted: Option<Strategy>,
    ) -> Result<Ordered, ServiceError> {
        let quantity = checked(quantity)?;
        let strategy = self.strategy(wanted)?;
        let product = self.named(commodity_name).await?;
        let (id, now_ms) = (Uuid::now_v7().to_string(), self.now_ms());
        let changed = self.change(product.id, -quantity, Cause::Reserve(id.clone()), strategy, now_ms).await?;
        // Not read back: an error of that would tell the client that nothing was changed.
        let order = Order {
            id,
            commodity: product.id,
            commodity_name: product.name,
            quantity,
            state: OrderState::Reserved,
            created_at: now_ms,
            updated_at: now_ms,
        };
        Ok(Ordered { order, strategy, changed: Some(changed) })
    }

    /// Gives back what an order took aside. One that has given it back already stays as it is.
    ///
    /// # Errors
    /// [`ServiceError::UnknownOrder`]; as [`arrive`](Self::arrive).
    pub async fn release(&self, id: &str, wanted: Option<Strategy>) -> Result<Ordered, ServiceError> {
        let strategy = self.strategy(wanted)?;
        let order = self.order(id).await?;
        if order.state == OrderState::Released {
            return Ok(Ordered { order, strategy, changed: None });
        }
        let (cause, now_ms) = (Cause::Release(order.id.clone()), self.now_ms());
        match self.change(order.commodity, order.quantity, cause, strategy, now_ms).await {
            Ok(changed) => {
                let order = Order { state: OrderState::Released, updated_at: now_ms, ..order };
                Ok(Ordered { order, strategy, changed: Some(changed) })
            }
            // Somebody else was faster with the same.
            Err(ServiceError::Change(strategy::ChangeError::NothingToRelease)) => {
                Ok(Ordered { order: self.order(id).await?, strategy, changed: None })
            }
            Err(error) => Err(error),
        }
    }

    /// The order of this id.
    ///
    /// # Errors
    /// [`ServiceError::UnknownOrder`]; [`ServiceError::Store`].
    pub async fn order(&self, id: &str) -> Result<Order, ServiceError> {
        let unknown = || ServiceError::UnknownOrder(id.chars().take(80).collect());
        // What can be no id is the id of no order; some of it (a zero byte) a database would refuse with an error.
        Uuid::try_parse(id).map_err(|_| unknown())?;
        self.0.store.order(id).await?.ok_or_else(unknown)
    }

    /// The newest orders, at most `limit`.
    ///
    /// # Errors
    /// [`ServiceError::Store`].
    pub async fn orders(&self, limit: u32) -> Result<Vec<Order>, ServiceError> {
        Ok(self.0.store.orders(limit).await?)
    }

    /// What the auditor finds of a product.
    ///
    /// # Errors
    /// [`ServiceError::UnknownProduct`]; [`ServiceError::Store`].
    pub async fn audit(&self, commodity_name: &str) -> Result<Audit, ServiceError> {
        let product = self.named(commodity_name).await?;
        Ok(self.0.store.audit(product.id, self.0.tools.cap).await?)
    }

    /// The tables.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The most there may be of a product.
    #[must_use]
    pub fn cap(&self) -> i64 {
        self.0.tools.cap
    }

    /// Whether requests may choose this strategy.
    #[must_use]
    pub fn offers(&self, strategy: Strategy) -> bool {
        (strategy.is_safe() || self.0.rules.allow_unfenced) && self.0.tools.can(strategy)
    }

    /// What the service was told.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.0.rules
    }

    /// Today, by the clock and in the time zone of the stockroom.
    #[must_use]
    pub fn today(&self) -> Day {
        self.0.rules.days.day(self.0.store.now_ms())
    }

    /// `up`, `down`, or `embedded` where there is no Redis.
    #[must_use]
    pub fn redis_state(&self) -> &'static str {
        redis_state(&self.0.keel)
    }

    async fn change(
        &self,
        commodity: i64,
        delta: i64,
        cause: Cause,
        strategy: Strategy,
        now_ms: i64,
    ) -> Result<Changed, ServiceError> {
        let change = Change { commodity, delta, cause };
        let Inner { store, tools, counters, .. } = &*self.0;
        let changed = with_pools!(store, pools => strategy::change(pools, tools, strategy, &change, now_ms).await);
        counters.count(strategy, &changed);
        Ok(changed?)
    }

    fn now_ms(&self) -> i64 {
        signed(self.0.store.now_ms())
    }

    async fn named(&self, name: &str) -> Result<Product, ServiceError> {
        let shown = || ServiceError::UnknownProduct(name.chars().take(80).collect());
        // What can be no name is the name of no product.
        let name = Name::parse(name).map_err(|_| shown())?;
        self.0.store.product_named(&name).await?.ok_or_else(shown)
    }

    fn strategy(&self, wanted: Option<Strategy>) -> Result<Strategy, ServiceError> {
        let strategy = wanted.unwrap_or(self.0.rules.strategy);
        if self.offers(strategy) {
            return Ok(strategy);
        }
        let why = if strategy.is_safe() {
            format!("The strategy {strategy} needs several Redis servers, and this service knows none.")
        } else {
            format!(
                "The strategy {strategy} loses changes; it is only there if the service was started with --allow-unfenced."
            )
        };
        Err(ServiceError::Invalid { field: "strategy", why })
    }
}

/// `up`, `down`, or `embedded` where there is no Redis.
pub(crate) fn redis_state(keel: &Keel) -> &'static str {
    match keel.link().map(|link| link.state().borrow().is_up()) {
        None => "embedded",
        Some(true) => "up",
        Some(false) => "down",
    }
}

fn checked(quantity: i64) -> Result<i64, ServiceError> {
    if (1..=QUANTITY_MAX).contains(&quantity) {
        return Ok(quantity);
    }
    let why = format!("The quantity must be a whole number from 1 to {QUANTITY_MAX}, this is {quantity}.");
    Err(ServiceError::Invalid { field: "quantity", why })
}

fn signed(unix_ms: u64) -> i64 {
    i64::try_from(unix_ms).unwrap_or(i64::MAX)
}

/// Handles on the counters, by strategy.
struct Counters(Vec<ByStrategy>);

struct ByStrategy {
    done: Counter,
    refused: Counter,
    failed: Counter,
    conflicts: Counter,
}

impl Counters {
    fn register() -> Self {
        describe_counter!("stockroom_changes_total", "Changes of stock, by strategy and outcome");
        describe_counter!("stockroom_conflicts_total", "Changes that had to begin again because another was faster");
        let by_strategy = |strategy: Strategy| {
            let outcome = |outcome: &'static str| counter!("stockroom_changes_total", "strategy" => strategy.name(), "outcome" => outcome);
            ByStrategy {
                done: outcome("done"),
                refused: outcome("refused"),
                failed: outcome("failed"),
                conflicts: counter!("stockroom_conflicts_total", "strategy" => strategy.name()),
            }
        };
        Self(Strategy::ALL.map(by_strategy).into())
    }

    fn count(&self, strategy: Strategy, changed: &Result<Changed, strategy::ChangeError>) {
        let Some(counters) = self.0.get(strategy as usize) else { return };
        match changed {
            Ok(changed) => {
                counters.done.increment(1);
                counters.conflicts.increment(u64::from(changed.conflicts + changed.interferences));
            }
            Err(strategy::ChangeError::Refused(_) | strategy::ChangeError::NothingToRelease) => {
                counters.refused.increment(1);
            }
            Err(strategy::ChangeError::Conflict { conflicts }) => {
                counters.failed.increment(1);
                counters.conflicts.increment(u64::from(*conflicts));
            }
            Err(_) => counters.failed.increment(1),
        }
    }
}
