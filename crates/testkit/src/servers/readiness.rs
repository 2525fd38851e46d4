//! Waits until a server is ready, or reports why it is not.

use super::port::Port;
use crate::process::Child;
use anyhow::{Context, Result, bail};
use std::time::{Duration, Instant};

/// Generous, for a loaded machine.
const DEADLINE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(4);
const PORT_ATTEMPTS: usize = 5;

/// Calls `probe` until it succeeds. If the server ends or misses the deadline, the error contains the end of its log.
#[expect(clippy::disallowed_methods, reason = "a starting server sends no notification, so this polls")]
pub(crate) async fn wait<T>(name: &str, child: &mut Child, probe: impl AsyncFn() -> Result<T>) -> Result<T> {
    let began = Instant::now();
    loop {
        let answer = tokio::time::timeout(DEADLINE, probe()).await;
        // Checked after the probe, because another process on the port may have answered.
        if let Some(status) = child.ended()? {
            bail!("{name} ended while it started ({status}); its log ends with:\n{}", child.log_tail());
        }
        let error = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => format!("{error:#}"),
            Err(_) => "it does not respond".to_owned(),
        };
        if began.elapsed() > DEADLINE {
            bail!("{name} is not ready after {DEADLINE:?}: {error}; its log ends with:\n{}", child.log_tail());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Calls `start` with a free port, again if another process took that port in between.
pub(super) async fn on_free_port<T>(start: impl AsyncFn(Port) -> Result<T>) -> Result<T> {
    let mut attempt = 1;
    loop {
        match start(Port::reserve()?).await {
            Err(error) if attempt < PORT_ATTEMPTS && port_was_taken(&error) => attempt += 1,
            started => return started.with_context(|| format!("start attempt {attempt}")),
        }
    }
}

fn port_was_taken(error: &anyhow::Error) -> bool {
    format!("{error:#}").to_lowercase().contains("address already in use")
}
