//! Carries out the effects of a committed unit of work: on the fast path right after the commit, and in the relay for what was left.

use super::WorkId;
use super::effect::Effect;
use crate::sql::Shared;
use crate::sql::sink::{Envelope, SinkError};
#[cfg(any(feature = "cache", feature = "queue"))]
use crate::trace;
use evenkeel_link::support::crash_point;
#[cfg(feature = "queue")]
use evenkeel_link::support::guard;
#[cfg(feature = "cache")]
use evenkeel_protocol::cache::error::CacheError;
#[cfg(feature = "queue")]
use evenkeel_protocol::queue::error::QueueError;
#[cfg(any(feature = "cache", feature = "queue"))]
use tracing::Instrument;

/// Why an effect could not be carried out. It is retried.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
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
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// This process has no sink.
    #[error("this process has no sink for messages")]
    NoSink,
}

impl CarryError {
    /// Whether the destination is unavailable, so that the effect is not the cause: such a failure uses no attempt.
    pub(crate) fn is_unavailable(&self) -> bool {
        match self {
            #[cfg(feature = "cache")]
            Self::Cache(error) => error.is_retryable(),
            #[cfg(feature = "queue")]
            Self::Queue(error) => error.is_retryable(),
            Self::Sink(error) => !error.counts_as_attempt(),
            Self::NoSink => true,
        }
    }
}

impl Shared {
    /// Carries out all effects of a committed unit of work: invalidations first (a job that runs at once must not read the earlier
    /// value), then jobs, then messages. It stops at the first error; the effects carried out before remain, and repeating them is
    /// safe.
    pub(crate) async fn carry_out(&self, work: WorkId, effects: &[Effect]) -> Result<(), CarryError> {
        // Boxed, to keep the future of the commit small.
        Box::pin(async {
            self.carry_out_in_store(work, effects).await?;
            self.publish(work, effects).await
        })
        .await
    }

    async fn publish(&self, work: WorkId, effects: &[Effect]) -> Result<(), CarryError> {
        let sinks = self.sinks();
        for (number, effect) in effects.iter().enumerate() {
            #[cfg_attr(
                not(any(feature = "cache", feature = "queue")),
                expect(irrefutable_let_patterns, reason = "other effects are those of other features")
            )]
            let Effect::Publish(message) = effect else { continue };
            let sinks = sinks.as_ref().ok_or(CarryError::NoSink)?;
            sinks.publish(&Envelope::unordered(work, number, message)).await?;
        }
        Ok(())
    }

    /// Carries out the effects in Redis only: the invalidations, then the jobs.
    pub(crate) async fn carry_out_in_store(&self, work: WorkId, effects: &[Effect]) -> Result<(), CarryError> {
        #[cfg(feature = "queue")]
        if !guard("invalidations_before_jobs") {
            self.put(effects).await?;
        }
        #[cfg(feature = "cache")]
        self.invalidate(work, effects).await?;
        #[cfg(not(feature = "cache"))]
        let _ = work;
        #[cfg(not(any(feature = "cache", feature = "queue")))]
        let _ = effects;
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
            let caches = &self.destinations.caches;
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
            self.destinations.queues.store().put_all(&puts).instrument(span).await?;
        }
        Ok(())
    }
}
