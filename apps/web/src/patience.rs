//! The timer behind the patience with a request's head.
//!
//! For every request hyper sets a timer that almost never fires, and drops it a moment later; to put each into the runtime's
//! wheel and take it out again costs more than to find out where a link leads. Here a connection has one timer, which stays
//! where it is while the deadline moves away from it: when it fires too early, it is set anew.

use hyper::rt::{Sleep, Timer};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::time::Sleep as Alarm;

/// The timer of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeadTimer {
    /// The alarm that nobody waits for now.
    idle: Arc<Mutex<Option<Pin<Box<Alarm>>>>>,
}

/// One wait. Dropped, it leaves its alarm to the next one.
struct Wait {
    deadline: Instant,
    alarm: Option<Pin<Box<Alarm>>>,
    timer: HeadTimer,
}

impl HeadTimer {
    fn wait_until(&self, deadline: Instant) -> Wait {
        let alarm = self.idle().take();
        // An alarm that would ring too late is of no use.
        let alarm = alarm.filter(|alarm| alarm.deadline().into_std() <= deadline);
        Wait { deadline, alarm, timer: self.clone() }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Option<Pin<Box<Alarm>>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
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
        let alarm = this.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(this.deadline.into())));
        loop {
            ready!(alarm.as_mut().poll(context));
            if alarm.deadline().into_std() >= this.deadline {
                return Poll::Ready(());
            }
            alarm.as_mut().reset(this.deadline.into());
        }
    }
}

impl Sleep for Wait {}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(alarm) = self.alarm.take() {
            *self.timer.idle() = Some(alarm);
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

    fn begin(timer: &HeadTimer, patience: Duration) -> Wait {
        let mut wait = timer.wait_until((Instant::now() + patience).into_std());
        assert!(!is_over(&mut wait));
        wait
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_at_its_own_deadline_and_not_at_that_of_one_before_it() {
        let timer = HeadTimer::default();
        for _ in 0..4 {
            let mut wait = begin(&timer, Duration::from_secs(30));
            advance(Duration::from_secs(20)).await;
            assert!(!is_over(&mut wait), "the alarm of the first one has rung in the second turn");
        }
        let mut wait = begin(&timer, Duration::from_secs(30));
        advance(Duration::from_secs(29)).await;
        assert!(!is_over(&mut wait));
        advance(Duration::from_secs(1)).await;
        assert!(is_over(&mut wait));
    }

    #[tokio::test(start_paused = true)]
    async fn a_sooner_deadline_is_kept_too() {
        let timer = HeadTimer::default();
        drop(begin(&timer, Duration::from_secs(30)));
        let mut wait = begin(&timer, Duration::from_secs(2));
        advance(Duration::from_secs(2)).await;
        assert!(is_over(&mut wait));
    }
}
