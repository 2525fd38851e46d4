//! The use cases of the API, the page and the load test.

mod error;
mod metrics;
mod payments;

pub use error::ServiceError;
pub use payments::Searched;

use self::metrics::Counters;
use self::payments::Payments;
use crate::domain::{Calendar, Cause, Day, PageRequest, ProductName, StockChange, Strategy};
use crate::store::{
    Arrival, ArrivalFilter, Audit, Order, OrderState, Page, PayError, Product, Store, StoreError, with_pools,
};
use crate::strategy::{self, Applied, ChangeError, StrategyContext};
use evenkeel::Keel;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Maximum quantity of one request: a million of them do not overflow a sum.
pub const QUANTITY_MAX: i64 = 1_000_000;

/// The products that [`Service::add_samples`] adds.
const SAMPLES: [(&str, i64); 3] = [("apples", 120), ("coffee", 40), ("paper", 600)];

/// How long [`Service::close`] waits for pending Redis commands.
const REDIS_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Options of a [`Service`].
#[derive(Clone)]
pub struct ServiceOptions {
    /// The strategy of requests that do not choose one.
    pub strategy: Strategy,
    /// Whether requests may choose [`Strategy::Unfenced`].
    pub allow_unfenced: bool,
    /// The calendar of arrivals.
    pub calendar: Calendar,
    /// How long an order may be unpaid; `None`: orders are neither paid nor time out.
    pub pay_within: Option<Duration>,
}

/// The stockroom. Cheap to clone.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    store: Store,
    keel: Keel,
    context: StrategyContext,
    options: ServiceOptions,
    counters: Counters,
    payments: Option<Payments>,
}

/// A delivery to receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArrival {
    /// Name of the product.
    pub commodity_name: String,
    /// Quantity.
    pub quantity: i64,
    /// The day; `None` for today.
    pub day: Option<Day>,
}

/// A received delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Name of the product.
    pub commodity_name: String,
    /// Day of the arrival.
    pub day: Day,
    /// Quantity of that day so far.
    pub quantity: i64,
    /// Number of deliveries of that day so far.
    pub deliveries: i64,
    /// Locking strategy that was used.
    pub strategy: Strategy,
    /// The change of the stock.
    pub applied: Applied,
}

/// An order that was created or released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderChange {
    /// The order.
    pub order: Order,
    /// Locking strategy that was used.
    pub strategy: Strategy,
    /// The change of the stock; `None` if the order was already released.
    pub applied: Option<Applied>,
}

impl Service {
    /// Opens a stockroom on `store`.
    ///
    /// # Errors
    /// [`ServiceError::Store`]: stocks that are split for another cap could not be joined.
    pub async fn open(
        store: Store,
        keel: Keel,
        context: StrategyContext,
        options: ServiceOptions,
    ) -> Result<Self, ServiceError> {
        let now_ms = store.signed_now_ms();
        with_pools!(store, pools => strategy::join_other_caps(pools, context.cap, now_ms).await)?;
        let payments = options.pay_within.map(|pay_within| Payments::new(&keel, pay_within));
        Ok(Self(Arc::new(Inner { store, keel, context, options, counters: Counters::register(), payments })))
    }

    /// Waits for pending Redis commands and closes all connections.
    pub async fn close(&self) {
        self.0.keel.shutdown(REDIS_SHUTDOWN_TIMEOUT).await;
        if let Some(redlock) = &self.0.context.redlock {
            redlock.shutdown(REDIS_SHUTDOWN_TIMEOUT).await;
        }
        self.0.store.close().await;
    }

    /// Adds a product without stock.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] if the name is invalid; [`StoreError::NameTaken`].
    pub async fn add_product(&self, name: &str) -> Result<Product, ServiceError> {
        let name = ProductName::parse(name).map_err(|error| ServiceError::invalid("name", &error))?;
        Ok(self.0.store.add_product(&name).await?)
    }

    /// Adds sample products with stock. Does not change products that exist.
    ///
    /// # Errors
    /// As [`add_product`](Self::add_product) and [`receive`](Self::receive).
    pub async fn add_samples(&self) -> Result<(), ServiceError> {
        for (name, quantity) in SAMPLES {
            match self.add_product(name).await {
                Err(ServiceError::Store(StoreError::NameTaken(_))) => continue,
                added => added?,
            };
            let quantity = quantity.min(self.cap());
            self.receive(&NewArrival { commodity_name: name.to_owned(), quantity, day: None }, None).await?;
        }
        Ok(())
    }

    /// The product with this number.
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
    pub async fn products(&self, page: PageRequest) -> Result<Page<Product>, ServiceError> {
        Ok(self.0.store.products(page).await?)
    }

    /// Receives a delivery. The deliveries of a product on one day are one row; the stock changes in the same transaction.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`], [`ServiceError::UnknownProduct`], [`ServiceError::Change`].
    pub async fn receive(&self, new: &NewArrival, requested: Option<Strategy>) -> Result<Received, ServiceError> {
        let quantity = validated(new.quantity)?;
        let strategy = self.strategy(requested)?;
        let product = self.product_named(&new.commodity_name).await?;
        let day = new.day.unwrap_or_else(|| self.today());
        let applied = self.change(product.id, quantity, Cause::Arrival(day), strategy, self.now_ms()).await?;
        let (quantity, deliveries) = applied.arrived.unwrap_or((quantity, 1));
        Ok(Received { commodity_name: product.name, day, quantity, deliveries, strategy, applied })
    }

    /// One page of the arrivals, newest first; with `commodity_name`, those of one product.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] if the end is before the start; [`ServiceError::UnknownProduct`]; [`ServiceError::Store`].
    pub async fn arrivals(
        &self,
        start: Option<Day>,
        end: Option<Day>,
        commodity_name: Option<&str>,
        page: PageRequest,
    ) -> Result<Page<Arrival>, ServiceError> {
        if let (Some(start), Some(end)) = (start, end)
            && end < start
        {
            let reason = format!("The end, {end}, is before the start, {start}.");
            return Err(ServiceError::Invalid { field: "endDate", reason });
        }
        let commodity = match commodity_name {
            Some(name) => Some(self.product_named(name).await?.id),
            None => None,
        };
        Ok(self.0.store.arrivals(&ArrivalFilter { start, end, commodity }, page).await?)
    }

    /// Creates an order, which reserves its goods.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub async fn reserve(
        &self,
        commodity_name: &str,
        quantity: i64,
        requested: Option<Strategy>,
    ) -> Result<OrderChange, ServiceError> {
        let quantity = validated(quantity)?;
        let strategy = self.strategy(requested)?;
        let product = self.product_named(commodity_name).await?;
        let (id, now_ms) = (Uuid::now_v7().to_string(), self.now_ms());
        let pay_by = self.0.payments.as_ref().map(|payments| payments.pay_by(now_ms));
        let cause = Cause::Reserve { order: id.clone(), pay_by };
        let applied = self.change(product.id, -quantity, cause, strategy, now_ms).await?;
        if let (Some(payments), Some(pay_by)) = (&self.0.payments, pay_by) {
            payments.schedule(&id, pay_by).await;
        }
        // Not read from the database: a failed read would report an error although the order is committed.
        let order = Order {
            id,
            commodity: product.id,
            commodity_name: product.name,
            quantity,
            state: OrderState::Reserved,
            created_at: now_ms,
            updated_at: now_ms,
            pay_by,
        };
        Ok(OrderChange { order, strategy, applied: Some(applied) })
    }

    /// Releases an unpaid order: its goods return to the stock. Does nothing if the order is already released, or has expired.
    ///
    /// # Errors
    /// [`ServiceError::UnknownOrder`]; [`ServiceError::Pay`] if it is paid or being paid; as [`receive`](Self::receive).
    pub async fn release(&self, id: &str, requested: Option<Strategy>) -> Result<OrderChange, ServiceError> {
        let strategy = self.strategy(requested)?;
        let order = self.order(id).await?;
        if let Some(ended) = ended(&order)? {
            return Ok(OrderChange { order: ended, strategy, applied: None });
        }
        let (cause, now_ms) = (Cause::Release(order.id.clone()), self.now_ms());
        match self.change(order.commodity, order.quantity, cause, strategy, now_ms).await {
            Ok(applied) => {
                let order = Order { state: OrderState::Released, updated_at: now_ms, ..order };
                Ok(OrderChange { order, strategy, applied: Some(applied) })
            }
            // A concurrent request has released or paid it, or it has expired.
            Err(ServiceError::Change(ChangeError::NothingToRelease)) => {
                let order = self.order(id).await?;
                match ended(&order)? {
                    Some(order) => Ok(OrderChange { order, strategy, applied: None }),
                    None => Err(ServiceError::Change(ChangeError::Conflict { conflicts: 1 })),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// The order with this id.
    ///
    /// # Errors
    /// [`ServiceError::UnknownOrder`]; [`ServiceError::Store`].
    pub async fn order(&self, id: &str) -> Result<Order, ServiceError> {
        let unknown = || ServiceError::UnknownOrder(id.chars().take(80).collect());
        // A database would reject some malformed ids with an error, for example a zero byte.
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

    /// Audits a product.
    ///
    /// # Errors
    /// [`ServiceError::UnknownProduct`]; [`ServiceError::Store`].
    pub async fn audit(&self, commodity_name: &str) -> Result<Audit, ServiceError> {
        let product = self.product_named(commodity_name).await?;
        Ok(self.0.store.audit(product.id, self.0.context.cap).await?)
    }

    /// The database.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Limit of a product's stock.
    #[must_use]
    pub fn cap(&self) -> i64 {
        self.0.context.cap
    }

    /// Whether requests may choose this strategy.
    #[must_use]
    pub fn offers(&self, strategy: Strategy) -> bool {
        (strategy.is_safe() || self.0.options.allow_unfenced) && self.0.context.supports(strategy)
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &ServiceOptions {
        &self.0.options
    }

    /// Today, in the time zone of the stockroom.
    #[must_use]
    pub fn today(&self) -> Day {
        self.0.options.calendar.day(self.0.store.now_ms())
    }

    /// `up`, `down`, or `embedded` without Redis.
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
    ) -> Result<Applied, ServiceError> {
        let change = StockChange { commodity, delta, cause };
        let Inner { store, context, counters, .. } = &*self.0;
        let result = with_pools!(store, pools => strategy::change(pools, context, strategy, &change, now_ms).await);
        counters.count(strategy, &result);
        Ok(result?)
    }

    fn now_ms(&self) -> i64 {
        self.0.store.signed_now_ms()
    }

    async fn product_named(&self, name: &str) -> Result<Product, ServiceError> {
        let unknown = || ServiceError::UnknownProduct(name.chars().take(80).collect());
        let name = ProductName::parse(name).map_err(|_| unknown())?;
        self.0.store.product_named(&name).await?.ok_or_else(unknown)
    }

    fn strategy(&self, requested: Option<Strategy>) -> Result<Strategy, ServiceError> {
        let strategy = requested.unwrap_or(self.0.options.strategy);
        if self.offers(strategy) {
            return Ok(strategy);
        }
        let reason = if strategy.is_safe() {
            format!("The strategy {strategy} needs several Redis servers. Start the service with --redlock.")
        } else {
            format!("The strategy {strategy} loses changes. Start the service with --allow-unfenced to try it.")
        };
        Err(ServiceError::Invalid { field: "strategy", reason })
    }
}

/// The order, if its goods have returned; `None` if it can be released.
fn ended(order: &Order) -> Result<Option<Order>, ServiceError> {
    match order.state {
        OrderState::Released | OrderState::Expired => Ok(Some(order.clone())),
        OrderState::Reserved => Ok(None),
        OrderState::Paying => Err(ServiceError::Pay(PayError::InProgress)),
        OrderState::Paid => Err(ServiceError::Pay(PayError::AlreadyPaid)),
    }
}

/// `up`, `down`, or `embedded` without Redis.
pub(crate) fn redis_state(keel: &Keel) -> &'static str {
    match keel.link().map(|link| link.state().borrow().is_up()) {
        None => "embedded",
        Some(true) => "up",
        Some(false) => "down",
    }
}

fn validated(quantity: i64) -> Result<i64, ServiceError> {
    if (1..=QUANTITY_MAX).contains(&quantity) {
        return Ok(quantity);
    }
    let reason = "The quantity must be a whole number from 1 to 1,000,000.".to_owned();
    Err(ServiceError::Invalid { field: "quantity", reason })
}
