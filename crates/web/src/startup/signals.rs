//! Shutdown signals: the first starts a graceful shutdown, the second ends the process.

use anyhow::Context;
use std::future::Future;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

/// Exit code after `SIGINT`: 128 + its number.
const INTERRUPTED: i32 = 130;

/// Completes at the first `SIGTERM` or `SIGINT`. The next one ends the process at once.
///
/// # Errors
/// The signal handlers cannot be installed.
pub fn stop_requested() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let mut signals = Signals {
        terminate: signal(SignalKind::terminate()).context("cannot handle SIGTERM")?,
        interrupt: signal(SignalKind::interrupt()).context("cannot handle SIGINT")?,
    };
    Ok(async move {
        let name = signals.next().await;
        info!(signal = name, "shutdown requested");
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
