//! Layers of tower around a handler: time-outs, rate limits, tracing, whatever wraps a `Service`.

use super::consumer::{Consumer, Handle, Work};
use super::delivery::Delivery;
use super::handled::Handled;
use std::fmt::Display;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// A consumer's handler as a service: what the innermost layer wraps.
pub struct HandlerService<T, E>(Arc<Handle<T, E>>);

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
    /// Puts a tower layer around the handler; the layer given last is the outermost. The whole stack is one service for all
    /// deliveries of this consumer: a rate limit counts them together. A delivery waits for the service's readiness with its
    /// slot taken and its lease extended; when its lease is lost, the whole stack's future is dropped, like a bare handler's.
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
    /// let mail = Keel::memory().queue::<String>("mail").build().await?;
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
    /// Errors of a layer count as the handler's: judge them with [`on_error`](Self::on_error), which belongs *after* the
    /// layers, since they may change the type of the errors; [`run`](Self::run) refuses the other order. Around a batch handler
    /// there are no layers; put them around the call that the handler makes.
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
                (None, Some("`on_error` comes after `layer`: a layer may change the type of the errors"))
            }
            Work::One(handler) => (Some(Arc::clone(handler)), None),
            Work::Batch { .. } => (None, Some("a batch handler takes no layers; put them around the call it makes")),
        };
        let service = handler.map(|handler| Arc::new(tokio::sync::Mutex::new(layer.layer(HandlerService(handler)))));
        let layered: Arc<Handle<T, _>> = Arc::new(move |delivery| {
            let service = service.clone();
            Box::pin(async move {
                // Without a service the consumer does not run.
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
