//! Waiting until a server answers, or saying why it does not.

use super::port::Port;
use crate::process::Child;
use anyhow::{Context, Result, bail};
use std::time::{Duration, Instant};

/// A server that needs longer than this on a loaded machine has a problem that its log tells.
const DEADLINE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(4);
const PORT_ATTEMPTS: usize = 5;

/// Asks `probe` until it succeeds. A server that ended, or did not answer in time, is an error that carries the log's tail.
pub(crate) async fn wait<T>(name: &str, child: &mut Child, probe: impl AsyncFn() -> Result<T>) -> Result<T> {
    let began = Instant::now();
    loop {
        let answer = tokio::time::timeout(DEADLINE, probe()).await;
        // Asked afterwards, because the answer may be somebody else's who has taken the port.
        if let Some(status) = child.ended()? {
            bail!("{name} ended while it started ({status}); its log ends with:\n{}", child.log_tail());
        }
        let error = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => format!("{error:#}"),
            Err(_) => "it does not answer".to_owned(),
        };
        if began.elapsed() > DEADLINE {
            bail!("{name} is not ready after {DEADLINE:?}: {error}; its log ends with:\n{}", child.log_tail());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Calls `start` with a fresh port, again if somebody else took that port in between.
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
