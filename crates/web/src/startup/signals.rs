//! Shutdown signals: the first starts a graceful shutdown, the second ends the process.

use anyhow::Context;
use std::future::Future;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tracing::info;

/// Exit code after `SIGINT`: 128 + its number.
const INTERRUPTED: i32 = 130;

/// Completes at the first `SIGTERM` or `SIGINT`. The next one ends the process at once, whatever the process waits for.
///
/// # Errors
/// The signal handlers cannot be installed.
pub fn stop_requested() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let mut signals = Signals {
        terminate: signal(SignalKind::terminate()).context("cannot handle SIGTERM")?,
        interrupt: signal(SignalKind::interrupt()).context("cannot handle SIGINT")?,
    };
    let (stop, stopped) = oneshot::channel();
    tokio::spawn(async move {
        let name = signals.next().await;
        info!(signal = name, "shutdown requested");
        // Fails if nothing waits for it any more.
        let _ = stop.send(());
        signals.next().await;
        std::process::exit(INTERRUPTED);
    });
    Ok(async move {
        let _ = stopped.await;
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
