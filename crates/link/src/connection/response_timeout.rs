//! Response time-outs shorter than the link's own.

use super::wheel::{PERIODS, Wheel};
use crate::clock::Clock;
use crate::support::background::Background;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;

/// A response time-out for some callers. It replaces the link's own time-out for a command and costs the same.
pub struct ResponseTimeout {
    wheel: Arc<Wheel>,
    _task: Background,
}

impl ResponseTimeout {
    /// A time-out between `timeout` and 9/8 of it. The task of its wheel runs on `runtime`, like the link's tasks.
    pub(crate) fn new(timeout: Duration, clock: Clock, runtime: &Handle) -> Self {
        let wheel = Arc::new(Wheel::default());
        let shared_wheel = Arc::clone(&wheel);
        let _on_the_runtime = runtime.enter();
        let task = Background::spawn("link response timeout", clock.clone(), move || {
            turn_periodically(Arc::clone(&shared_wheel), clock.clone(), timeout)
        });
        Self { wheel, _task: task }
    }

    pub(crate) fn wheel(&self) -> &Wheel {
        &self.wheel
    }
}

/// The shorter time-outs of one link: one entry each, shared by its handles, because each has a wheel and a task.
#[derive(Default)]
pub(crate) struct ResponseTimeouts(Mutex<Vec<(Duration, Weak<ResponseTimeout>)>>);

impl ResponseTimeouts {
    /// The time-out of this length, which other handles may use already.
    pub(crate) fn get(&self, timeout: Duration, clock: &Clock, runtime: &Handle) -> Arc<ResponseTimeout> {
        let mut all = self.0.lock();
        let known = all.iter().find(|(known, _)| *known == timeout);
        if let Some(known) = known.and_then(|(_, known)| known.upgrade()) {
            return known;
        }
        all.retain(|(_, known)| known.strong_count() > 0);
        let new = Arc::new(ResponseTimeout::new(timeout, clock.clone(), runtime));
        all.push((timeout, Arc::downgrade(&new)));
        new
    }

    /// Wakes all pending commands with a shorter time-out. They belong to the epoch that has ended, because a link has one at a time.
    pub(crate) fn end(&self) {
        self.0.lock().iter().filter_map(|(_, known)| known.upgrade()).for_each(|known| known.wheel.end());
    }
}

/// Turns `wheel` until the task is aborted with its connection.
pub(crate) async fn turn_periodically(wheel: Arc<Wheel>, clock: Clock, timeout: Duration) {
    let period = (timeout / PERIODS).max(Duration::from_millis(1));
    loop {
        clock.sleep(period).await;
        wheel.turn();
    }
}
