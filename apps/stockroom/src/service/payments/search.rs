//! The search in the database for what the queue of time-outs, or the stream of payments, has lost.

use super::Payments;
use super::expiry::Expiry;
use super::metrics::By;
use crate::domain::PaymentRequested;
use crate::service::{Service, ServiceError};
use crate::store::{Overdue, SEARCH_MAX};
use evenkeel::clock::Clock;
use std::time::Duration;
use tracing::{info, warn};
use web::guard;

/// How often the database is searched.
const SEARCH_EVERY: Duration = Duration::from_secs(10);

/// How long one search may take. The next one begins with what this one has not looked at.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(60);

/// How long an order that a search has read is skipped by other searches.
const ORDER_PAUSE_MS: i64 = 10_000;

/// How late a job may be before the search replaces it.
const LATE_MS: i64 = 5_000;

/// How long a payment may be pending before it is appended to the stream again, in case Redis has lost its entry, and the time between
/// two such entries. A surplus entry has no effect.
const PENDING_MS: i64 = 60_000;

/// The result of one search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// Orders that have expired.
    pub expired: usize,
    /// Orders whose goods would exceed the limit of the stock. A later search tries them again.
    pub full: usize,
    /// Payments that were appended to the stream again.
    pub appended: usize,
    /// Orders and payments that failed. The log names each.
    pub failed: usize,
    /// Whether the search reached its limit, so that there may be more.
    pub is_partial: bool,
}

impl Service {
    /// Searches the database for overdue orders and payments until `shutdown`.
    pub(super) async fn search_overdue(&self, payments: &Payments, shutdown: impl Future<Output = ()> + Send) {
        tokio::pin!(shutdown);
        let clock = Clock::system();
        loop {
            let search = clock.timeout(SEARCH_TIMEOUT, Box::pin(self.search_once()));
            let searched = tokio::select! {
                () = &mut shutdown => return,
                searched = search => searched,
            };
            match searched {
                Ok(Ok(searched)) => {
                    payments.metrics.searched(self.0.store.now_ms());
                    if searched.is_partial {
                        continue;
                    }
                }
                Ok(Err(error)) => warn!(%error, "the search for overdue orders and payments failed; it is repeated"),
                Err(_) => warn!("the search for overdue orders and payments took too long; the next one continues it"),
            }
            tokio::select! {
                () = &mut shutdown => return,
                () = clock.sleep(SEARCH_EVERY) => {}
            }
        }
    }

    /// Searches the database once: expires overdue orders, and appends payments to the stream again that have waited for a minute. At most
    /// a hundred of each; those that no search has looked at for the longest time come first. [`run`](Self::run) repeats it.
    ///
    /// An order or a payment that fails does not keep the others from being handled.
    ///
    /// # Errors
    /// [`ServiceError::PaymentsOff`]. [`ServiceError::Store`], [`ServiceError::Change`]: the database cannot be searched, or is unreachable.
    /// [`ServiceError::Stream`]: there are payments to append, and Redis is unreachable or refuses the stream. The next search continues.
    pub async fn search_once(&self) -> Result<Searched, ServiceError> {
        let payments = self.0.payments.as_ref().ok_or(ServiceError::PaymentsOff)?;
        let mut searched = Searched::default();
        let orders = self.search_orders(payments, &mut searched).await;
        // Also if the orders cannot be searched.
        self.search_payments(payments, &mut searched).await?;
        orders.map(|()| searched)
    }

    async fn search_orders(&self, payments: &Payments, searched: &mut Searched) -> Result<(), ServiceError> {
        let now_ms = self.now_ms();
        let overdue = Overdue { since_before: now_ms - LATE_MS, searched_until: now_ms - ORDER_PAUSE_MS };
        let found = self.0.store.overdue_orders(overdue).await?;
        let mut failed = 0;
        for order in &found {
            if !guard("overdue_orders_searched") {
                continue;
            }
            let result = match self.0.store.claim_order(order, overdue).await {
                Ok(true) => self.expire(order).await,
                Ok(false) => continue,
                Err(error) => Err(error.into()),
            };
            payments.metrics.looked(By::Search, &result);
            match result {
                Ok(Expiry::Expired) => searched.expired += 1,
                Ok(Expiry::Full) => searched.full += 1,
                Ok(Expiry::Over | Expiry::Later(_)) => {}
                Err(error) if error.is_unavailable() || !guard("search_goes_on") => return Err(error),
                Err(error) => {
                    failed += 1;
                    warn!(%error, order, "an overdue order cannot be ended; the search looks at it again");
                }
            }
        }
        searched.failed += failed;
        searched.is_partial |= found.len() == SEARCH_MAX && failed < SEARCH_MAX;
        Ok(())
    }

    async fn search_payments(&self, payments: &Payments, searched: &mut Searched) -> Result<(), ServiceError> {
        let now_ms = self.now_ms();
        let overdue = Overdue { since_before: now_ms - PENDING_MS, searched_until: now_ms - PENDING_MS };
        let found = self.0.store.overdue_payments(overdue).await?;
        if found.is_empty() || !guard("pending_payments_searched") {
            return Ok(());
        }
        let stream = payments.stream().await.map_err(ServiceError::Stream)?;
        let mut failed = 0;
        for payment in &found {
            let value = PaymentRequested { payment: payment.id.clone() };
            let result = match self.0.store.claim_payment(&payment.id, overdue).await {
                Ok(true) => {
                    let appended = stream.append(PaymentRequested::key(payment.commodity), &value).await;
                    appended.map_err(ServiceError::Stream)
                }
                Ok(false) => continue,
                Err(error) => Err(error.into()),
            };
            match result {
                Ok(_) => {
                    payments.metrics.appended_again.increment(1);
                    searched.appended += 1;
                    info!(payment = payment.id, "a payment that waits for its answer was appended to the stream again");
                }
                Err(error) => {
                    payments.metrics.append_failed.increment(1);
                    if error.is_unavailable() {
                        return Err(error);
                    }
                    failed += 1;
                    warn!(%error, payment = payment.id, "a payment cannot be appended to the stream again; the search repeats it");
                }
            }
        }
        searched.failed += failed;
        searched.is_partial |= found.len() == SEARCH_MAX && failed < SEARCH_MAX;
        Ok(())
    }
}
