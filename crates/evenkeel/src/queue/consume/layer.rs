//! Tower layers around a handler: timeouts, rate limits, tracing and other layers of a `Service`.

use super::consumer::Consumer;
use super::delivery::Delivery;
use super::handled::Handled;
use crate::handling::handler::Handler;
use crate::handling::work::Work;
use std::fmt::Display;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// A consumer's handler as a `Service`, which the innermost layer wraps.
pub struct HandlerService<T, E>(Handler<Delivery<T>, Result<Handled, E>>);

impl<T, E> Clone for HandlerService<T, E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T, E> Service<Delivery<T>> for HandlerService<T, E> {
    type Response = Handled;
    type Error = E;
    type Future = Pin<Box<dyn Future<Output = Result<Handled, E>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), E>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, delivery: Delivery<T>) -> Self::Future {
        (self.0)(delivery)
    }
}

impl<T: Send + Sync + 'static, E: Display + Send + 'static> Consumer<T, E> {
    /// Wraps the handler in a tower layer; the layer added last is the outermost. All deliveries of this consumer share one service, so a
    /// rate limit counts them together. A delivery that waits for the service's readiness holds its slot, and its lease is extended. When
    /// the lease is lost, the future of the whole stack is dropped, like that of a handler without layers.
    ///
    /// ```
    /// use evenkeel::Keel;
    /// use evenkeel::queue::{Delivery, Handled, Reaction};
    /// use std::time::Duration;
    /// use tower::limit::RateLimitLayer;
    /// use tower::timeout::{TimeoutLayer, error::Elapsed};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), evenkeel::queue::QueueError> {
    /// let mail = Keel::memory().queue::<String>("mail").open().await?;
    /// mail.now(&"hello".to_owned()).await?;
    /// let (done, is_done) = tokio::sync::watch::channel(false);
    /// let consumer = mail.consume(move |_: Delivery<String>| {
    ///     done.send_replace(true);
    ///     async { Ok::<_, std::io::Error>(Handled::Done) }
    /// });
    /// consumer
    ///     .layer(TimeoutLayer::new(Duration::from_secs(10)))
    ///     .layer(RateLimitLayer::new(100, Duration::from_secs(1)))
    ///     .on_error(|error| {
    ///         // A slow mail server is not the job's fault: no attempt is used.
    ///         if error.is::<Elapsed>() { Reaction::Snooze(Duration::from_secs(60)) } else { Reaction::Retry }
    ///     })
    ///     .run(async { assert!(is_done.clone().wait_for(|done| *done).await.is_ok()) })
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Errors of a layer count as errors of the handler. Call [`on_error`](Self::on_error) *after* `layer`, because a layer may change the
    /// type of the errors; [`run`](Self::run) fails for the other order. A batch handler cannot have layers; wrap the call that the
    /// handler makes instead.
    pub fn layer<L, R>(self, layer: L) -> Consumer<T, <L::Service as Service<Delivery<T>>>::Error>
    where
        L: Layer<HandlerService<T, E>>,
        L::Service: Service<Delivery<T>, Response = R> + Send + 'static,
        <L::Service as Service<Delivery<T>>>::Future: Send + 'static,
        <L::Service as Service<Delivery<T>>>::Error: Display + Send + 'static,
        R: Into<Handled>,
    {
        let (handler, fault) = match &self.work {
            Work::One(_) if self.reacts => {
                (None, Some("call `on_error` after `layer`, because a layer may change the type of the errors"))
            }
            Work::One(handler) => (Some(Arc::clone(handler)), None),
            Work::Batch { .. } => (None, Some("a batch handler cannot have layers; wrap the call that it makes")),
        };
        let service = handler.map(|handler| Arc::new(tokio::sync::Mutex::new(layer.layer(HandlerService(handler)))));
        let layered: Handler<Delivery<T>, Result<Handled, _>> = Arc::new(move |delivery| {
            let service = service.clone();
            Box::pin(async move {
                // `run` fails for a consumer without a service.
                let Some(service) = service else { return Ok(Handled::Done) };
                let called = {
                    let mut service = service.lock().await;
                    poll_fn(|context| service.poll_ready(context)).await?;
                    service.call(delivery)
                };
                called.await.map(Into::into)
            })
        });
        self.with_work(Work::One(layered), fault)
    }
}
