//! Handles the entries of the stream of payments.

use super::gateway::{self, GatewayError};
use super::{DRAIN_MAX, OPEN_PAUSE, Payments};
use crate::domain::PaymentRequested;
use crate::service::Service;
use crate::store::{PaymentState, Store, StoreError};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::stream::{Entry, OnFailure, RetryDelay, StreamError};
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
        let (store, keel) = (self.0.store.clone(), payments.keel.clone());
        let consumer = group.retry_delay(RetryDelay::exponential(DELAYS.0, DELAYS.1)).handle(
            move |entry: Entry<PaymentRequested>| {
                let (store, keel, clock) = (store.clone(), keel.clone(), clock.clone());
                async move { handle(&entry.value.payment, &store, &keel, &clock).await }
            },
        );
        consumer.drain(DRAIN_MAX).run(shutdown).await
    }
}

/// Asks the gateway, and records its answers. A second run of the same entry finds the payment decided, or gets the same answer.
async fn handle(payment: &str, store: &Store, keel: &Keel, clock: &Clock) -> Result<(), HandleError> {
    let Some(payment) = store.payment(payment).await? else { return Ok(()) };
    if payment.state != PaymentState::Pending {
        return Ok(());
    }
    let answered = match clock.timeout(GATEWAY_TIMEOUT, gateway::charge(store, &payment)).await {
        Ok(answered) => answered.map_err(HandleError::from),
        Err(_) => Err(HandleError::Silent),
    };
    match answered {
        Ok(answers) => {
            for approved in answers {
                store.record_answer(keel, &payment.id, approved).await?;
            }
            Ok(())
        }
        Err(error) => {
            store.note(&payment.order, "gateway", &format!("{error}; it is asked again")).await?;
            Err(error)
        }
    }
}
