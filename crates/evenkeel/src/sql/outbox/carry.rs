//! Does what a committed work asked for: the fast path calls it right after the commit, the relay for what was left.

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

/// Where messages go. What implements it is a sink.
pub(crate) trait Publisher: Send + Sync {
    /// Sends one message and waits until the other side has it. `number` is the place of the message among its work's effects:
    /// together with the work it names the message for good, so that a repeat can be told from a new one.
    fn publish<'a>(
        &'a self,
        work: WorkId,
        number: usize,
        message: &'a Message,
    ) -> Pin<Box<dyn Future<Output = Result<(), CarryError>> + Send + 'a>>;
}

/// Why an effect could not be carried out. It is tried again.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(dead_code, reason = "sinks make it")]
pub(crate) enum CarryError {
    /// An invalidation.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A job.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A message.
    #[error("the sink did not take a message: {reason}")]
    Sink {
        /// Its words.
        reason: String,
        /// Whether the sink is away, so that nothing is wrong with this message.
        is_away: bool,
    },
    /// There is no sink in this process.
    #[error("this process has no sink for messages")]
    NoSink,
}

#[allow(dead_code, reason = "asked by the relay")]
impl CarryError {
    /// Whether the other side is away, so that the effect itself is not to blame: such a failure uses no attempt.
    pub(crate) fn is_away(&self) -> bool {
        match self {
            Self::Cache(error) => error.is_retryable(),
            Self::Queue(error) => error.is_retryable(),
            Self::Sink { is_away, .. } => *is_away,
            Self::NoSink => true,
        }
    }
}

/// Carries effects out. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Carrier {
    keel: Keel,
    publisher: Option<Arc<dyn Publisher>>,
}

impl Carrier {
    pub(crate) fn new(keel: Keel, publisher: Option<Arc<dyn Publisher>>) -> Self {
        Self { keel, publisher }
    }

    /// Carries out all effects of a committed work: invalidations first (a job that runs at once must not find the value from
    /// before), then jobs, then messages. The first error ends it; what was done before stays done, and repeating it is harmless.
    pub(crate) async fn carry_out(&self, work: WorkId, effects: &[Effect]) -> Result<(), CarryError> {
        // Boxed, so that whoever commits does not carry the room of all that may follow.
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

    /// Only what is for Redis: the invalidations, then the jobs.
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
