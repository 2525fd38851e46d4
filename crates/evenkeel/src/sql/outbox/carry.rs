//! Carries out the effects of a committed unit of work: on the fast path right after the commit, and in the relay for what was left.

use super::WorkId;
use super::effect::{Effect, Message};
use crate::sql::Shared;
#[cfg(any(feature = "cache", feature = "queue"))]
use crate::trace;
use evenkeel_link::support::crash_point;
#[cfg(feature = "queue")]
use evenkeel_link::support::guard;
#[cfg(feature = "cache")]
use evenkeel_protocol::cache::error::CacheError;
#[cfg(feature = "queue")]
use evenkeel_protocol::queue::error::QueueError;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
#[cfg(any(feature = "cache", feature = "queue"))]
use tracing::Instrument;

/// A destination of messages; sinks implement it.
pub(crate) trait Publisher: Send + Sync {
    /// Sends one message and waits for the acknowledgement. `number` is the index of the message among the effects of its unit of
    /// work: together they identify the message permanently, so that a sink can detect duplicates.
    fn publish<'a>(
        &'a self,
        work: WorkId,
        number: usize,
        message: &'a Message,
    ) -> Pin<Box<dyn Future<Output = Result<(), CarryError>> + Send + 'a>>;
}

/// Why an effect could not be carried out. It is retried.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(dead_code, reason = "constructed by sinks")]
pub(crate) enum CarryError {
    /// Invalidating a cache entry failed.
    #[cfg(feature = "cache")]
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Enqueuing a job failed.
    #[cfg(feature = "queue")]
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Publishing a message failed.
    #[error("the sink did not accept a message: {reason}")]
    Sink {
        /// The error message of the sink.
        reason: String,
        /// Whether the sink is unavailable, so that the message is not the cause.
        is_unavailable: bool,
    },
    /// This process has no sink.
    #[error("this process has no sink for messages")]
    NoSink,
}

#[allow(dead_code, reason = "called by the relay")]
impl CarryError {
    /// Whether the destination is unavailable, so that the effect is not the cause: such a failure uses no attempt.
    pub(crate) fn is_unavailable(&self) -> bool {
        match self {
            #[cfg(feature = "cache")]
            Self::Cache(error) => error.is_retryable(),
            #[cfg(feature = "queue")]
            Self::Queue(error) => error.is_retryable(),
            Self::Sink { is_unavailable, .. } => *is_unavailable,
            Self::NoSink => true,
        }
    }
}

/// Carries out effects. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Carrier {
    shared: Arc<Shared>,
    publisher: Option<Arc<dyn Publisher>>,
}

impl Carrier {
    pub(crate) fn new(shared: Arc<Shared>, publisher: Option<Arc<dyn Publisher>>) -> Self {
        Self { shared, publisher }
    }

    /// Carries out all effects of a committed unit of work: invalidations first (a job that runs at once must not read the earlier
    /// value), then jobs, then messages. It stops at the first error; the effects carried out before remain, and repeating them is
    /// safe.
    pub(crate) async fn carry_out(&self, work: WorkId, effects: &[Effect]) -> Result<(), CarryError> {
        // Boxed, to keep the future of the commit small.
        Box::pin(self.each(work, effects)).await
    }

    async fn each(&self, work: WorkId, effects: &[Effect]) -> Result<(), CarryError> {
        self.in_store(work, effects).await?;
        for (number, effect) in effects.iter().enumerate() {
            #[cfg_attr(
                not(any(feature = "cache", feature = "queue")),
                expect(irrefutable_let_patterns, reason = "other effects are those of other features")
            )]
            let Effect::Publish(message) = effect else { continue };
            let publisher = self.publisher.as_ref().ok_or(CarryError::NoSink)?;
            publisher.publish(work, number, message).await?;
        }
        Ok(())
    }

    /// Carries out the effects in Redis only: the invalidations, then the jobs.
    pub(crate) async fn carry_out_in_store(&self, work: WorkId, effects: &[Effect]) -> Result<(), CarryError> {
        Box::pin(self.in_store(work, effects)).await
    }

    async fn in_store(&self, work: WorkId, effects: &[Effect]) -> Result<(), CarryError> {
        #[cfg(feature = "queue")]
        if !guard("invalidations_before_jobs") {
            self.put(effects).await?;
        }
        #[cfg(feature = "cache")]
        self.invalidate(work, effects).await?;
        #[cfg(not(feature = "cache"))]
        let _ = work;
        #[cfg(not(any(feature = "cache", feature = "queue")))]
        let _ = (effects, &self.shared);
        crash_point("inside_fast_path");
        #[cfg(feature = "queue")]
        self.put(effects).await?;
        Ok(())
    }

    #[cfg(feature = "cache")]
    async fn invalidate(&self, work: WorkId, effects: &[Effect]) -> Result<(), CarryError> {
        let sent = effects.iter().filter_map(|effect| {
            let Effect::Invalidate(effect) = effect else { return None };
            let window = effect.window.then(|| evenkeel_link::Token::from(work.0));
            let caches = &self.shared.destinations.caches;
            let invalidation = caches.invalidate_of_work(&effect.cache, &effect.key, effect.demand, window);
            Some(invalidation.instrument(trace::invalidation(&effect.cache)))
        });
        let mut sent: Vec<_> = sent.collect();
        match sent.len() {
            0 => {}
            1 => sent.remove(0).await?,
            _ => drop(futures_util::future::try_join_all(sent).await?),
        }
        Ok(())
    }

    #[cfg(feature = "queue")]
    async fn put(&self, effects: &[Effect]) -> Result<(), CarryError> {
        let puts = effects.iter().filter_map(|effect| match effect {
            Effect::Put(put) => Some(put.clone()),
            _ => None,
        });
        let puts: Vec<_> = puts.collect();
        if let Some(first) = puts.first() {
            let span = trace::enqueue(&first.topic, puts.len());
            self.shared.destinations.queues.store().put_all(&puts).instrument(span).await?;
        }
        Ok(())
    }
}
