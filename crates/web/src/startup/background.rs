//! [`stopping`]: what each background task of a service waits for.

use std::future::Future;
use tokio::sync::watch;

/// Ready once `true` was sent, or the sender was dropped. Each task of a service gets a future of its own.
pub fn stopping(stopped: &watch::Receiver<bool>) -> impl Future<Output = ()> + Send + use<> {
    let mut stopped = stopped.clone();
    async move {
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }
}

#[cfg(test)]
mod tests {
    use super::stopping;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use tokio::sync::watch;

    #[test]
    fn stop_is_seen_by_each_task_also_if_its_sender_is_dropped() {
        let mut context = Context::from_waker(Waker::noop());
        let (stop, stopped) = watch::channel(false);
        let (mut one, mut other) = (pin!(stopping(&stopped)), pin!(stopping(&stopped)));
        assert_eq!(one.as_mut().poll(&mut context), Poll::Pending);
        stop.send_replace(true);
        assert_eq!(one.as_mut().poll(&mut context), Poll::Ready(()));
        assert_eq!(other.as_mut().poll(&mut context), Poll::Ready(()));
        let (stop, stopped) = watch::channel(false);
        drop(stop);
        assert_eq!(pin!(stopping(&stopped)).poll(&mut context), Poll::Ready(()));
    }
}
