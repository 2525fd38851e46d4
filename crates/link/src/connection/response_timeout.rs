//! Response time-outs shorter than the link's own.

use super::wheel::{Wheel, turn_periodically};
use crate::clock::Clock;
use crate::support::background::Background;
use std::sync::Arc;
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
