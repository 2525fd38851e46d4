//! [`HeadTimer`]: the timer of the head timeout.
//!
//! For every request hyper starts a timer and drops it a moment later; registering each with tokio's timer wheel costs more than a
//! cache hit. Here a connection keeps one timer registered while the deadline moves forward; a timer that fires too early is reset.

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::time::Sleep as TokioSleep;

/// The timer of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeadTimer {
    /// The registered timer, while no request waits for it.
    idle: Arc<Mutex<Option<Pin<Box<TokioSleep>>>>>,
}

/// One wait. On drop it returns its timer for the next one.
struct Wait {
    deadline: Instant,
    sleep: Option<Pin<Box<TokioSleep>>>,
    owner: HeadTimer,
}

impl HeadTimer {
    fn wait_until(&self, deadline: Instant) -> Wait {
        let sleep = self.idle.lock().take();
        // A timer that fires after the deadline cannot be reused.
        let sleep = sleep.filter(|sleep| sleep.deadline().into_std() <= deadline);
        Wait { deadline, sleep, owner: self.clone() }
    }
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: std::time::Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(self.wait_until(deadline))
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        *sleep = self.sleep_until(deadline);
    }
}

impl Future for Wait {
    type Output = ();

    #[expect(clippy::disallowed_methods, reason = "the timer of a request")]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(this.deadline.into())));
        loop {
            ready!(sleep.as_mut().poll(context));
            if sleep.deadline().into_std() >= this.deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(this.deadline.into());
        }
    }
}

impl Sleep for Wait {}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(sleep) = self.sleep.take() {
            *self.owner.idle.lock() = Some(sleep);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HeadTimer, Wait};
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Waker};
    use std::time::Duration;
    use tokio::time::{Instant, advance};

    fn is_over(wait: &mut Wait) -> bool {
        Pin::new(wait).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    fn begin(timer: &HeadTimer, timeout: Duration) -> Wait {
        let mut wait = timer.wait_until((Instant::now() + timeout).into_std());
        assert!(!is_over(&mut wait));
        wait
    }

    #[tokio::test(start_paused = true)]
    async fn reused_timer_fires_at_the_new_deadline() {
        let timer = HeadTimer::default();
        for _ in 0..4 {
            let mut wait = begin(&timer, Duration::from_secs(30));
            advance(Duration::from_secs(20)).await;
            assert!(!is_over(&mut wait), "the first timer's deadline has passed in the second turn");
        }
        let mut wait = begin(&timer, Duration::from_secs(30));
        advance(Duration::from_secs(29)).await;
        assert!(!is_over(&mut wait));
        advance(Duration::from_secs(1)).await;
        assert!(is_over(&mut wait));
    }

    #[tokio::test(start_paused = true)]
    async fn earlier_deadline_replaces_a_later_timer() {
        let timer = HeadTimer::default();
        drop(begin(&timer, Duration::from_secs(30)));
        let mut wait = begin(&timer, Duration::from_secs(2));
        advance(Duration::from_secs(2)).await;
        assert!(is_over(&mut wait));
    }
}
