//! A time-out shorter than the link's own, for callers who would rather do without an answer than wait for it.

use super::wheel::{Wheel, keep_turning};
use crate::clock::Clock;
use crate::support::background::Background;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// How long a caller waits for an answer. It costs a command what the link's own time-out costs, and takes its place.
pub struct Patience {
    wheel: Arc<Wheel>,
    _turner: Background,
}

impl Patience {
    /// A patience that lasts between `timeout` and 9/8 of it. Its wheel turns on `runtime`, where the link lives.
    pub(crate) fn new(timeout: Duration, clock: Clock, runtime: &Handle) -> Self {
        let wheel = Arc::new(Wheel::default());
        let turning = Arc::clone(&wheel);
        let _on_the_runtime = runtime.enter();
        let turner = Background::spawn("link patience", clock.clone(), move || {
            keep_turning(Arc::clone(&turning), clock.clone(), timeout)
        });
        Self { wheel, _turner: turner }
    }

    pub(crate) fn wheel(&self) -> &Wheel {
        &self.wheel
    }
}
