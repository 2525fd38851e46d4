//! The user's handler, of single deliveries or of batches.

use super::gather::Gatherer;
use super::handler::{Handler, Handling, OnError, reaction, with_reaction};
use super::phase::Phase;
use evenkeel_link::clock::Clock;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The default time for which the first delivery of a batch waits for others.
pub(crate) const FILL: Duration = Duration::from_millis(10);

/// The result of a batch handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchHandled<H, E> {
    /// The same result for all deliveries.
    All(H),
    /// One result per delivery, in the order of the batch. A delivery without a result is retried, as after an error.
    Each(Vec<Result<H, E>>),
}

impl<H: From<()>, E> From<()> for BatchHandled<H, E> {
    fn from((): ()) -> Self {
        Self::All(().into())
    }
}

impl<H, E> From<Vec<Result<H, E>>> for BatchHandled<H, E> {
    fn from(each: Vec<Result<H, E>>) -> Self {
        Self::Each(each)
    }
}

/// A handler of single deliveries `D`, or of batches of them.
pub(crate) enum Work<D, H, E> {
    One(Handler<D, Result<H, E>>),
    Batch { size: usize, fill: Duration, handler: BatchHandler<D, H, E> },
}

type BatchHandler<D, H, E> = Handler<Vec<D>, Result<BatchHandled<H, E>, E>>;

/// The results of a batch, one for each delivery, with the reactions to errors.
type EachResult<H, R> = Vec<Result<H, (R, String)>>;

impl<D, H, E> Work<D, H, E> {
    /// Sets how long the first delivery of a batch waits for others. No effect on a handler of single deliveries.
    pub(crate) fn set_fill(&mut self, time: Duration) {
        if let Self::Batch { fill, .. } = self {
            *fill = time;
        }
    }

    /// The number of deliveries that run at once, if the handler can be called with it.
    pub(crate) fn slots(&self, concurrency: usize) -> Result<u32, &'static str> {
        if let Self::Batch { size, .. } = self
            && !(1..=concurrency).contains(size)
        {
            return Err("the size of a batch must be between 1 and `concurrency`: a larger batch never fills");
        }
        let slots = u32::try_from(concurrency).ok().filter(|slots| (1..=10_000).contains(slots));
        slots.ok_or("`concurrency` must be between 1 and 10,000")
    }
}

impl<D, H, E> Work<D, H, E>
where
    D: Send + 'static,
    H: Clone + Send + 'static,
    E: Display + Send + 'static,
{
    /// The same handler with its errors mapped to reactions.
    pub(crate) fn into_handling<R: Default + Clone + Send + 'static>(
        self,
        on_error: OnError<E, R>,
        clock: &Clock,
        phases: &watch::Receiver<Phase>,
    ) -> Handling<D, Result<H, (R, String)>> {
        match self {
            Self::One(handler) => Handling::One(with_reaction(handler, on_error)),
            Self::Batch { size, fill, handler } => {
                let each = each_with_reaction(handler, on_error);
                Handling::Batch(Gatherer::new(size, fill, each, clock.clone(), phases.clone()))
            }
        }
    }
}

/// Wraps the batch handler: maps its errors to reactions, and returns one result for each delivery.
fn each_with_reaction<D, H, E, R>(
    handler: BatchHandler<D, H, E>,
    on_error: OnError<E, R>,
) -> Handler<Vec<D>, EachResult<H, R>>
where
    D: 'static,
    H: Clone + Send + 'static,
    E: Display + Send + 'static,
    R: Default + Clone + Send + 'static,
{
    Arc::new(move |deliveries: Vec<D>| {
        let size = deliveries.len();
        let handled = handler(deliveries);
        let on_error = Arc::clone(&on_error);
        Box::pin(async move {
            let react = |error: E| reaction(&on_error, &error);
            match handled.await {
                Ok(BatchHandled::All(handled)) => vec![Ok(handled); size],
                Ok(BatchHandled::Each(each)) => {
                    let none = || Err((R::default(), "the handler returned no result for this delivery".to_owned()));
                    let given = each.into_iter().map(|answer| answer.map_err(react));
                    given.chain(std::iter::repeat_with(none)).take(size).collect()
                }
                Err(error) => vec![Err(react(error)); size],
            }
        })
    })
}
