//! [`Payments`]: orders are paid through a stream, and time out through a delay queue.
//!
//! A request to pay an order commits the payment and its entry in the stream `order-payments` together. The key of an entry is the number of
//! the product: the payments of one product are handled one after the other, in the order of their commits, those of different products at
//! the same time. The consumer asks the gateway, and records the answer in one transaction.
//!
//! The row of the order decides what wins: a payment, a release or the time-out. A search in the database finds the time-outs and the
//! entries that Redis has lost.

mod consume;
mod expiry;
mod gateway;
mod metrics;
mod search;
mod timeouts;

pub use search::Searched;

use self::metrics::PaymentMetrics;
use super::{Service, ServiceError};
use crate::domain::{IdempotencyKey, PaymentRequested, TestCard};
use crate::store::{OrderEvent, PayError, PayRequest, Payment};
use evenkeel::Keel;
use evenkeel::queue::{Queue, QueueError};
use evenkeel::sql::sink::Sinks;
use evenkeel::stream::{Stream, StreamError};
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tracing::warn;
use uuid::Uuid;
use web::stopping;

/// The stream of payments.
const STREAM: &str = "order-payments";

/// The parts of the stream: how many instances can handle payments. It cannot be changed later.
const PARTITIONS: u16 = 8;

/// The queue of time-outs.
const QUEUE: &str = "order-timeouts";

/// How long running handlers may take at shutdown.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// Pause between attempts to open stream and queue while Redis is unreachable.
const OPEN_PAUSE: Duration = Duration::from_secs(1);

/// What payments need. Cheap to clone.
#[derive(Clone)]
pub(super) struct Payments {
    keel: Keel,
    /// How long an order may be unpaid.
    pay_within: Duration,
    /// Empty until Redis was reached for the first time.
    stream: Arc<OnceLock<Stream<PaymentRequested>>>,
    queue: Arc<OnceLock<Queue<String>>>,
    metrics: Arc<PaymentMetrics>,
}

impl Payments {
    pub(super) fn new(keel: &Keel, pay_within: Duration) -> Self {
        let metrics = Arc::new(PaymentMetrics::register());
        Self { keel: keel.clone(), pay_within, stream: Arc::default(), queue: Arc::default(), metrics }
    }

    /// The stream, opened on first use.
    async fn stream(&self) -> Result<Stream<PaymentRequested>, StreamError> {
        if let Some(stream) = self.stream.get() {
            return Ok(stream.clone());
        }
        // Eviction is safe: a search in the database finds what the stream has lost.
        let stream = self.keel.stream(STREAM).partitions(PARTITIONS).allow_eviction().open().await?;
        Ok(self.stream.get_or_init(|| stream).clone())
    }

    /// The queue, opened on first use.
    async fn queue(&self) -> Result<Queue<String>, QueueError> {
        if let Some(queue) = self.queue.get() {
            return Ok(queue.clone());
        }
        // Eviction is safe: a search in the database finds what the queue has lost.
        let queue = self.keel.queue::<String>(QUEUE).allow_eviction().open().await?;
        Ok(self.queue.get_or_init(|| queue).clone())
    }

    /// The time by which an order that is created now must be paid.
    pub(super) fn pay_by(&self, now_ms: i64) -> i64 {
        now_ms.saturating_add(i64::try_from(self.pay_within.as_millis()).unwrap_or(i64::MAX))
    }

    /// Enqueues the time-out of an order. If that fails, the search in the database finds the order, a little later.
    pub(super) async fn schedule(&self, order: &str, pay_by: i64) {
        let due = u64::try_from(pay_by).unwrap_or_default();
        let enqueued = async {
            let queue = self.queue().await?;
            queue.job(&order.to_owned()).id(format!("timeout/{order}")).at(due).enqueue().await
        };
        if let Err(error) = enqueued.await {
            warn!(%error, order, "the time-out of an order was not enqueued; a search in the database replaces it");
        }
    }
}

impl Service {
    /// Begins to pay an order. A request that was sent before, which has the same key, returns the same payment. The gateway answers later:
    /// see [`payment`](Self::payment).
    ///
    /// # Errors
    /// [`ServiceError::Pay`]; [`ServiceError::UnknownOrder`]; [`ServiceError::PaymentsOff`].
    pub async fn pay(&self, order: &str, key: &IdempotencyKey, card: TestCard) -> Result<Payment, ServiceError> {
        let payments = self.0.payments.as_ref().ok_or(ServiceError::PaymentsOff)?;
        let order = self.order(order).await?.id;
        let stream = payments.stream().await.map_err(ServiceError::Stream)?;
        let (payment, now_ms) = (Uuid::now_v7().to_string(), self.now_ms());
        let request = PayRequest { order: &order, key, card, payment: &payment, now_ms };
        match self.0.store.request_payment(&payments.keel, &stream, &request).await {
            Ok(requested) => {
                if requested.id == payment {
                    payments.metrics.requested.increment(1);
                }
                Ok(requested)
            }
            Err(PayError::UnknownOrder) => Err(ServiceError::UnknownOrder(order)),
            Err(PayError::Sql(error)) => Err(ServiceError::Store(error.into())),
            Err(PayError::Store(error)) => Err(ServiceError::Store(error)),
            Err(refused) => Err(ServiceError::Pay(refused)),
        }
    }

    /// The payment with this id.
    ///
    /// # Errors
    /// [`ServiceError::UnknownPayment`]; [`ServiceError::Store`].
    pub async fn payment(&self, id: &str) -> Result<Payment, ServiceError> {
        let unknown = || ServiceError::UnknownPayment(id.chars().take(80).collect());
        Uuid::try_parse(id).map_err(|_| unknown())?;
        self.0.store.payment(id).await?.ok_or_else(unknown)
    }

    /// The life of an order, oldest first.
    ///
    /// # Errors
    /// [`ServiceError::UnknownOrder`]; [`ServiceError::Store`].
    pub async fn events(&self, id: &str) -> Result<Vec<OrderEvent>, ServiceError> {
        let order = self.order(id).await?;
        Ok(self.0.store.events(&order.id).await?)
    }

    /// Runs the background tasks until `shutdown`, then finishes those in progress: the relay, which appends committed payments to the
    /// stream, the consumer of payments, the time-outs, and the search for what Redis has lost. Any number of instances may run them at once. Without payments it only waits.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        let Some(payments) = self.0.payments.clone() else { return shutdown.await };
        let (stop, stopped) = watch::channel(false);
        let signal = async {
            shutdown.await;
            stop.send_replace(true);
        };
        // The relay stops last: it sends what the other tasks commit.
        let (over, is_over) = oneshot::channel::<()>();
        let work = async {
            tokio::join!(
                reported("payments", self.consume_payments(&payments, stopping(&stopped))),
                reported("time-outs of orders", self.time_out_orders(&payments, stopping(&stopped))),
                self.search_overdue(&payments, stopping(&stopped)),
            );
            drop(over);
        };
        let until_over = async { drop(is_over.await) };
        let sinks = Sinks::none().streams(&payments.keel);
        let relay = async {
            crate::store::with_pools!(self.0.store, pools => {
                payments.keel.relay(&pools.writer).sinks(sinks).run(until_over).await;
            });
        };
        tokio::join!(signal, work, relay);
    }
}

/// Logs that a task has ended with an error.
async fn reported<E: std::fmt::Display>(what: &str, task: impl Future<Output = Result<(), E>>) {
    if let Err(error) = task.await {
        warn!(%error, "{what} are no longer handled by this instance");
    }
}
