//! Unpaid orders expire: a delayed job for each, and a search in the database for what the queue, or the stream, has lost.

use super::{DRAIN_MAX, OPEN_PAUSE, Payments};
use crate::domain::{Cause, PaymentRequested};
use crate::service::{Service, ServiceError};
use crate::store::OrderState;
use crate::strategy::ChangeError;
use evenkeel::clock::Clock;
use evenkeel::queue::{Delivery, Handled, QueueError};
use std::time::Duration;
use tracing::{info, warn};
use web::guard;

/// How often the database is searched.
const SEARCH_EVERY: Duration = Duration::from_secs(10);

/// How late a job may be before the search replaces it.
const LATE_MS: i64 = 5_000;

/// How long a payment may be pending before it is appended to the stream once more, in case that Redis has lost its entry. An entry too many
/// does nothing.
const PENDING_MS: i64 = 60_000;

/// When an order is looked at again that is being paid.
const PAYING_PAUSE: Duration = Duration::from_secs(2);

/// When goods are returned again that exceed the limit of the stock.
const FULL_PAUSE: Duration = Duration::from_secs(30);

impl Service {
    /// Expires an order, if it is unpaid and its time to pay has ended: its goods return to the stock. The conditional update of its row
    /// decides against a payment at the same time.
    ///
    /// # Errors
    /// [`ServiceError::Change`], [`ServiceError::Store`].
    async fn expire(&self, id: &str) -> Result<Handled, ServiceError> {
        let order = match self.order(id).await {
            // The process died between this job and the commit of the order.
            Err(ServiceError::UnknownOrder(_)) => return Ok(Handled::Done),
            found => found?,
        };
        match (order.state, order.pay_by) {
            (OrderState::Reserved, Some(pay_by)) if pay_by <= self.now_ms() => {}
            (OrderState::Reserved, Some(pay_by)) => {
                let left = u64::try_from(pay_by - self.now_ms()).unwrap_or_default();
                return Ok(Handled::Snooze(Duration::from_millis(left)));
            }
            // If it is declined, the order is unpaid again.
            (OrderState::Paying, _) => return Ok(Handled::Snooze(PAYING_PAUSE)),
            _ => return Ok(Handled::Done),
        }
        let (cause, strategy) = (Cause::Expire(order.id.clone()), self.0.options.strategy);
        match self.change(order.commodity, order.quantity, cause, strategy, self.now_ms()).await {
            Ok(_) => {
                info!(order = order.id, "an unpaid order has expired");
                Ok(Handled::Done)
            }
            // A payment or a release came first. A declined payment makes the order unpaid again.
            Err(ServiceError::Change(ChangeError::NothingToRelease)) => Ok(Handled::Snooze(PAYING_PAUSE)),
            Err(ServiceError::Change(ChangeError::Rejected(_))) => Ok(Handled::Snooze(FULL_PAUSE)),
            Err(error) => Err(error),
        }
    }

    /// Runs due time-outs until `shutdown`.
    ///
    /// # Errors
    /// [`QueueError`] that a retry does not help.
    pub(super) async fn time_out_orders(
        &self,
        payments: &Payments,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), QueueError> {
        tokio::pin!(shutdown);
        let clock = Clock::system();
        let queue = loop {
            match payments.queue().await {
                Ok(queue) => break queue,
                Err(error) if error.is_retryable() => {}
                Err(error) => return Err(error),
            }
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                () = clock.sleep(OPEN_PAUSE) => {}
            }
        };
        let service = self.clone();
        let consumer = queue.consume(move |job: Delivery<String>| {
            let service = service.clone();
            async move { service.expire(&job.body).await }
        });
        consumer.drain(DRAIN_MAX).run(shutdown).await
    }

    /// Searches the database for overdue orders and payments until `shutdown`.
    pub(super) async fn search_overdue(&self, payments: &Payments, shutdown: impl Future<Output = ()> + Send) {
        tokio::pin!(shutdown);
        let clock = Clock::system();
        loop {
            if let Err(error) = self.search_once(payments).await {
                warn!(%error, "the search for overdue orders failed");
            }
            tokio::select! {
                () = &mut shutdown => return,
                () = clock.sleep(SEARCH_EVERY) => {}
            }
        }
    }

    async fn search_once(&self, payments: &Payments) -> Result<(), ServiceError> {
        let now_ms = self.now_ms();
        for order in self.0.store.orders_unpaid_since(now_ms - LATE_MS).await? {
            if !guard("overdue_orders_searched") {
                continue;
            }
            self.expire(&order).await?;
        }
        for payment in self.0.store.payments_pending_since(now_ms - PENDING_MS).await? {
            if !self.0.store.claim_pending(&payment.id, now_ms - PENDING_MS).await? {
                continue;
            }
            let stream = payments.stream().await.map_err(ServiceError::Stream)?;
            let value = PaymentRequested { payment: payment.id };
            stream.append(PaymentRequested::key(payment.commodity), &value).await.map_err(ServiceError::Stream)?;
        }
        Ok(())
    }
}
