//! Unpaid orders expire: each has a delayed job.

use super::expiry::Expiry;
use super::metrics::By;
use super::{DRAIN_MAX, OPEN_PAUSE, Payments};
use crate::service::{Service, ServiceError};
use evenkeel::clock::Clock;
use evenkeel::queue::{Delivery, Handled, QueueError};
use std::time::Duration;

/// When goods are returned again that exceed the limit of the stock.
const FULL_PAUSE: Duration = Duration::from_secs(30);

impl Service {
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
        let (service, metrics) = (self.clone(), payments.metrics.clone());
        let consumer = queue.consume(move |job: Delivery<String>| {
            let (service, metrics) = (service.clone(), metrics.clone());
            async move {
                let result = service.expire(&job.body).await;
                metrics.looked(By::Job, &result);
                Ok::<_, ServiceError>(match result? {
                    Expiry::Expired | Expiry::Over => Handled::Done,
                    Expiry::Later(pause) => Handled::Snooze(pause),
                    Expiry::Full => Handled::Snooze(FULL_PAUSE),
                })
            }
        });
        consumer.drain(DRAIN_MAX).run(shutdown).await
    }
}
