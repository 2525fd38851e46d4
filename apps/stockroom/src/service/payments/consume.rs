//! Handles the entries of the stream of payments.

use super::gateway::{self, GatewayError};
use super::metrics::PaymentMetrics;
use super::{DRAIN_MAX, OPEN_PAUSE, Payments};
use crate::domain::PaymentRequested;
use crate::service::Service;
use crate::store::{PaymentState, Store, StoreError};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::stream::{Entry, OnFailure, RetryDelay, StreamError};
use std::sync::Arc;
use std::time::Duration;
use web::guard;

/// The consumer group.
const GROUP: &str = "payments";

/// How long the gateway may take.
const GATEWAY_TIMEOUT: Duration = Duration::from_secs(2);

/// After this time the partitions of a dead instance go to another one.
const LEASE: Duration = Duration::from_secs(10);

/// The first and the longest delay after a failed attempt. Later payments of the product wait for it.
const DELAYS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));

/// Why a payment was not completed.
#[derive(Debug, thiserror::Error)]
enum HandleError {
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    #[error("the gateway did not answer within {} s", GATEWAY_TIMEOUT.as_secs())]
    Silent,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Service {
    /// Handles payments until `shutdown`.
    ///
    /// # Errors
    /// [`StreamError`] that a retry does not help.
    pub(super) async fn consume_payments(
        &self,
        payments: &Payments,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), StreamError> {
        tokio::pin!(shutdown);
        let clock = Clock::system();
        let stream = loop {
            match payments.stream().await {
                Ok(stream) => break stream,
                Err(error) if error.is_retryable() => {}
                Err(error) => return Err(error),
            }
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                () = clock.sleep(OPEN_PAUSE) => {}
            }
        };
        // It may never be given up: the gateway may have charged the card.
        let group = stream.group(GROUP).lease(LEASE);
        let group = if guard("payments_in_order") { group.per_key(OnFailure::BlockKey) } else { group.unordered() };
        let group = if guard("payments_retried") { group.retry_forever() } else { group.retries(0) };
        let metrics = Arc::clone(&payments.metrics);
        let handler = Handler { store: self.0.store.clone(), keel: payments.keel.clone(), clock, metrics };
        let handler = Arc::new(handler);
        let consumer = group.retry_delay(RetryDelay::exponential(DELAYS.0, DELAYS.1)).handle(
            move |entry: Entry<PaymentRequested>| {
                let handler = Arc::clone(&handler);
                async move { handler.handle(&entry.value.payment).await }
            },
        );
        consumer.drain(DRAIN_MAX).run(shutdown).await
    }
}

/// What the handler of an entry needs.
struct Handler {
    store: Store,
    keel: Keel,
    clock: Clock,
    metrics: Arc<PaymentMetrics>,
}

impl Handler {
    /// Asks the gateway, and records its answers. A second run of the same entry finds the payment decided, or gets the same answer.
    async fn handle(&self, payment: &str) -> Result<(), HandleError> {
        let Some(payment) = self.store.payment(payment).await? else { return Ok(()) };
        if payment.state != PaymentState::Pending {
            return Ok(());
        }
        let charge = gateway::charge(&self.store, &payment);
        let error = match self.clock.timeout(GATEWAY_TIMEOUT, charge).await {
            Ok(Ok(answers)) => return self.record(&payment.id, &answers).await,
            Ok(Err(error)) => {
                self.metrics.gateway_failed.increment(1);
                HandleError::Gateway(error)
            }
            Err(_) => {
                self.metrics.gateway_timed_out.increment(1);
                HandleError::Silent
            }
        };
        self.store.note(&payment.order, "gateway", &format!("{error}; it is asked again")).await?;
        Err(error)
    }

    async fn record(&self, payment: &str, answers: &[bool]) -> Result<(), HandleError> {
        for &approved in answers {
            if self.store.record_answer(&self.keel, payment, approved).await? {
                let counter = if approved { &self.metrics.paid } else { &self.metrics.declined };
                counter.increment(1);
            }
        }
        Ok(())
    }
}
