//! The time limit of a handler.

use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use std::time::Duration;

/// How long a handler may run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimeLimit(pub(crate) Option<Duration>);

impl TimeLimit {
    /// Whether a handler can end in time.
    pub(crate) fn check(self) -> Result<(), &'static str> {
        let is_short = self.0.is_some_and(|limit| limit < Duration::from_millis(1));
        let reason = "`handler_timeout` is below 1 ms, so that no handler could end in time; choose 1 ms or more, or omit it for no limit";
        if is_short { Err(reason) } else { Ok(()) }
    }

    /// The answer of a handler; if it runs too long it is dropped, and the error says so.
    pub(crate) async fn answer<A>(self, clock: &Clock, handled: impl Future<Output = A>) -> Result<A, String> {
        let Some(limit) = self.0.filter(|_| guard("handler_timeout")) else { return Ok(handled.await) };
        clock.timeout(limit, handled).await.map_err(|_| format!("the handler did not end within {limit:?}"))
    }
}
