//! Carries out the effects of a committed unit of work: on the fast path right after the commit, and in the relay for what was left.

use super::WorkId;
use super::effect::{Effect, Invalidate, Message};
use crate::keel::Keel;
use crate::queue::JobPut;
use evenkeel_link::Token;
use evenkeel_link::support::{crash_point, guard};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::queue::error::QueueError;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

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
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Enqueuing a job failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Publishing a message failed.
    #[error("the sink did not accept a message: {reason}")]
    Sink {
        /// The error message of the sink.
        reason: String,
        /// Whether the sink is unavailable, so that the message is not the cause.
        is_away: bool,
    },
    /// This process has no sink.
    #[error("this process has no sink for messages")]
    NoSink,
}

#[allow(dead_code, reason = "called by the relay")]
impl CarryError {
    /// Whether the destination is unavailable, so that the effect is not the cause: such a failure uses no attempt.
    pub(crate) fn is_away(&self) -> bool {
        match self {
            Self::Cache(error) => error.is_retryable(),
            Self::Queue(error) => error.is_retryable(),
            Self::Sink { is_away, .. } => *is_away,
            Self::NoSink => true,
        }
    }
}

/// Carries out effects. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Carrier {
    keel: Keel,
    publisher: Option<Arc<dyn Publisher>>,
}

impl Carrier {
    pub(crate) fn new(keel: Keel, publisher: Option<Arc<dyn Publisher>>) -> Self {
        Self { keel, publisher }
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
        for (number, message) in sorted(effects).2 {
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
        let (invalidations, puts, _) = sorted(effects);
        if !guard("invalidations_before_jobs") {
            self.keel.queue_store().put_all(&puts).await?;
        }
        self.invalidate(work, &invalidations).await?;
        crash_point("inside_fast_path");
        if !puts.is_empty() {
            self.keel.queue_store().put_all(&puts).await?;
        }
        Ok(())
    }

    async fn invalidate(&self, work: WorkId, invalidations: &[&Invalidate]) -> Result<(), CarryError> {
        let sent = invalidations.iter().map(|effect| {
            let window = effect.window.then(|| Token::from(work.0));
            self.keel.invalidate_of_work(&effect.cache, &effect.key, effect.demand, window)
        });
        match invalidations {
            [] => Ok(()),
            [_] => {
                for one in sent {
                    one.await?;
                }
                Ok(())
            }
            _ => Ok(futures_util::future::try_join_all(sent).await.map(drop)?),
        }
    }
}

type Sorted<'a> = (Vec<&'a Invalidate>, Vec<JobPut>, Vec<(usize, &'a Message)>);

fn sorted(effects: &[Effect]) -> Sorted<'_> {
    let (mut invalidations, mut puts, mut messages) = Sorted::default();
    for (number, effect) in effects.iter().enumerate() {
        match effect {
            Effect::Invalidate(invalidate) => invalidations.push(invalidate),
            Effect::Put(put) => puts.push(put.clone()),
            Effect::Publish(message) => messages.push((number, message)),
        }
    }
    (invalidations, puts, messages)
}
