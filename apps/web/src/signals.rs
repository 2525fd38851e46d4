//! When to stop: the first signal asks politely, the second does not wait.

use anyhow::Context;
use std::future::Future;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

/// The exit code of a program that a signal ended: 128 + the number of `SIGINT`.
const INTERRUPTED: i32 = 130;

/// Ready at the first `SIGTERM` or `SIGINT`. From then on the next one ends the process at once.
///
/// # Errors
/// The signals cannot be caught.
pub fn stop_requested() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let mut signals = Signals {
        terminate: signal(SignalKind::terminate()).context("cannot catch SIGTERM")?,
        interrupt: signal(SignalKind::interrupt()).context("cannot catch SIGINT")?,
    };
    Ok(async move {
        let name = signals.next().await;
        info!(signal = name, "asked to stop");
        tokio::spawn(async move {
            signals.next().await;
            std::process::exit(INTERRUPTED);
        });
    })
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
