//! The user's handlers, and the reactions to their errors.

use super::gather::Gatherer;
use super::panics::catch_panic_of_call;
use metrics::Gauge;
use std::fmt::Display;
use std::pin::Pin;
use std::sync::Arc;

/// A handler that receives `D`, a delivery or a batch, and returns `A`.
pub(crate) type Handler<D, A> = Arc<dyn Fn(D) -> Pin<Box<dyn Future<Output = A> + Send>> + Send + Sync>;

/// The user's `on_error`: the reaction to an error.
pub(crate) type OnError<E, R> = Arc<dyn Fn(&E) -> R + Send + Sync>;

/// The handler of decoded deliveries, with its errors mapped to reactions.
pub(crate) enum Handling<D, A> {
    /// Each delivery goes to the handler.
    One(Handler<D, A>),
    /// Deliveries go to the handler in batches.
    Batch(Arc<Gatherer<D, A>>),
}

/// The user's function as a handler.
pub(crate) fn boxed<D, F, R, H, E>(handler: impl Fn(D) -> F + Send + Sync + 'static) -> Handler<D, Result<H, E>>
where
    F: Future<Output = Result<R, E>> + Send + 'static,
    R: Into<H>,
{
    Arc::new(move |delivery| {
        let handled = handler(delivery);
        Box::pin(async move { handled.await.map(Into::into) })
    })
}

/// Wraps the handler: maps its errors to reactions.
pub(crate) fn with_reaction<D: 'static, H: 'static, E: Display + Send + 'static, R: Default + 'static>(
    handler: Handler<D, Result<H, E>>,
    on_error: OnError<E, R>,
) -> Handler<D, Result<H, (R, String)>> {
    Arc::new(move |delivery| {
        let handled = handler(delivery);
        let on_error = Arc::clone(&on_error);
        Box::pin(async move { handled.await.map_err(|error| reaction(&on_error, &error)) })
    })
}

/// The reaction to an error, and the error's message. If the user's `on_error` panics, the reaction is the default one, a retry: in a batch
/// only for the delivery of that error.
pub(crate) fn reaction<E: Display, R: Default>(on_error: &OnError<E, R>, error: &E) -> (R, String) {
    let text = catch_panic_of_call(|| error.to_string())
        .unwrap_or_else(|panic| format!("formatting the error panicked: {panic}"));
    match catch_panic_of_call(|| on_error(error)) {
        Ok(reaction) => (reaction, text),
        Err(panic) => (R::default(), format!("{text} (`on_error` panicked: {panic})")),
    }
}

/// Counts an attempt as running until it is dropped, also if its task is aborted.
pub(crate) struct IsRunning<'a>(&'a Gauge);

impl<'a> IsRunning<'a> {
    pub(crate) fn new(running: &'a Gauge) -> Self {
        running.increment(1.0);
        Self(running)
    }
}

impl Drop for IsRunning<'_> {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}
