//! Carries out the effects of a committed unit of work: on the fast path right after the commit, and in the relay for what was left.

use super::WorkId;
use super::effect::Effect;
use crate::sql::Shared;
use crate::sql::sink::{Envelope, SinkError};
#[cfg(any(feature = "cache", feature = "queue"))]
use crate::trace;
use evenkeel_link::support::crash_point;
#[cfg(feature = "cache")]
use evenkeel_link::support::in_groups;
#[cfg(feature = "queue")]
use evenkeel_link::support::{TOGETHER_MAX, guard};
#[cfg(feature = "cache")]
use evenkeel_protocol::cache::error::CacheError;
#[cfg(feature = "queue")]
use evenkeel_protocol::queue::error::QueueError;
use parking_lot::Mutex;
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

/// The effects of a unit of work that have been carried out: later attempts skip them. An attempt that is dropped keeps what it has
/// reached.
#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<Vec<bool>>);

impl Progress {
    pub(crate) fn has(&self, number: usize) -> bool {
        self.0.lock().get(number).is_some_and(|is_done| *is_done)
    }

    pub(crate) fn add(&self, number: usize) {
        let mut done = self.0.lock();
        if done.len() <= number {
            done.resize(number + 1, false);
        }
        done[number] = true;
    }

    /// How many effects have been carried out.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().iter().filter(|is_done| **is_done).count()
    }
}

/// The error of an attempt of which `errors` failed: one that is the fault of its effect counts, so it takes precedence.
fn worst(errors: impl IntoIterator<Item = CarryError>) -> Result<(), CarryError> {
    let mut worst: Option<CarryError> = None;
    for error in errors {
        if worst.as_ref().is_none_or(|worst| worst.is_unavailable() && !error.is_unavailable()) {
            worst = Some(error);
        }
    }
    worst.map_or(Ok(()), Err)
}

impl Shared {
    /// Carries out all effects of a committed unit of work: invalidations first (a job that runs at once must not read the earlier
    /// value), then jobs, then messages. Each effect of a kind is tried, whichever others fail; the next kind follows if all have
    /// succeeded. Effects carried out before an error remain, and repeating them is safe. Those of `progress` are skipped.
    pub(crate) async fn carry_out(
        &self,
        work: WorkId,
        effects: &[Effect],
        progress: &Progress,
    ) -> Result<(), CarryError> {
        // Boxed, to keep the future of the commit small.
        Box::pin(async {
            self.carry_out_in_store(work, effects, progress).await?;
            self.publish(work, effects).await
        })
        .await
    }

    async fn publish(&self, work: WorkId, effects: &[Effect]) -> Result<(), CarryError> {
        let mut messages: Vec<Envelope> = Vec::new();
        for (number, effect) in effects.iter().enumerate() {
            match effect {
                Effect::Publish(message) => messages.push(Envelope::unordered(work, number, message)),
                #[cfg(any(feature = "cache", feature = "queue"))]
                _ => {}
            }
        }
        if messages.is_empty() {
            return Ok(());
        }
        let sinks = self.sinks().ok_or(CarryError::NoSink)?;
        let answers = sinks.publish_all(&messages).await;
        worst(answers.into_iter().filter_map(Result::err).map(CarryError::from))
    }

    /// Carries out the effects in Redis only, except those of `progress`: the invalidations, then the jobs.
    pub(crate) async fn carry_out_in_store(
        &self,
        work: WorkId,
        effects: &[Effect],
        progress: &Progress,
    ) -> Result<(), CarryError> {
        #[cfg(feature = "queue")]
        if !guard("invalidations_before_jobs") {
            self.put(effects, progress).await?;
        }
        #[cfg(feature = "cache")]
        self.invalidate(work, effects, progress).await?;
        #[cfg(not(feature = "cache"))]
        let _ = work;
        #[cfg(not(any(feature = "cache", feature = "queue")))]
        let _ = (effects, progress);
        crash_point("inside_fast_path");
        #[cfg(feature = "queue")]
        self.put(effects, progress).await?;
        Ok(())
    }

    #[cfg(feature = "cache")]
    async fn invalidate(&self, work: WorkId, effects: &[Effect], progress: &Progress) -> Result<(), CarryError> {
        let caches = &self.destinations.caches;
        let left = effects.iter().enumerate().filter_map(|(number, effect)| match effect {
            Effect::Invalidate(effect) if !progress.has(number) => Some((number, effect)),
            _ => None,
        });
        let left: Vec<_> = left.collect();
        // The first group begins at once. Until the others are sent, and if this future is dropped before, they are pending.
        let pending = left.iter().enumerate().map(|(place, (_, effect))| {
            let is_later = place >= self.together_max();
            is_later.then(|| caches.begin_of_work(&effect.cache, &effect.key, effect.demand)).flatten()
        });
        let pending: Vec<_> = pending.collect();
        let sent = left.into_iter().zip(pending).map(async |((number, effect), pending)| {
            let window = effect.window.then(|| evenkeel_link::Token::from(work.0));
            let invalidation = caches.invalidate_of_work(&effect.cache, &effect.key, effect.demand, window, pending);
            invalidation.instrument(trace::invalidation(&effect.cache)).await?;
            progress.add(number);
            Ok::<(), CacheError>(())
        });
        let sent = in_groups(self.together_max(), sent).await;
        worst(sent.into_iter().filter_map(Result::err).map(CarryError::from))
    }

    #[cfg(feature = "queue")]
    async fn put(&self, effects: &[Effect], progress: &Progress) -> Result<(), CarryError> {
        let left = effects.iter().enumerate().filter_map(|(number, effect)| match effect {
            Effect::Put(put) if !progress.has(number) => Some((number, put.clone())),
            _ => None,
        });
        let (numbers, puts): (Vec<usize>, Vec<_>) = left.unzip();
        let mut errors = Vec::new();
        for (numbers, puts) in numbers.chunks(TOGETHER_MAX).zip(puts.chunks(TOGETHER_MAX)) {
            let span = trace::enqueue(&puts[0].topic, puts.len());
            match self.destinations.queues.store().put_all(puts).instrument(span).await {
                Ok(()) => numbers.iter().for_each(|number| progress.add(*number)),
                Err(error) => errors.push(CarryError::from(error)),
            }
        }
        worst(errors)
    }
}
