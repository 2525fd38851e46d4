//! Waits for events of other processes by polling.

use anyhow::{Result, bail};
use std::future::Future;
use std::time::{Duration, Instant};

/// Sufficient for a loaded machine with two cores; a passing test never waits this long.
const DEADLINE: Duration = Duration::from_secs(60);

/// Short enough that a wait costs little, and long enough that polling does not load the server.
const PAUSE: Duration = Duration::from_millis(5);

/// Calls `probe` until it returns `Some`, and returns that value.
///
/// Only for other processes (a server, a browser, a worker): within one process, wait for the event itself.
///
/// Guarantee: returns after at most 60 s, even if one probe hangs. Not guaranteed: that a state shorter than a probe is detected.
/// Errors: the deadline passed; the text has `what`, the time and the number of probes.
pub async fn eventually<T, F, Fut>(what: &str, probe: F) -> Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Option<T>>,
{
    eventually_within(DEADLINE, what, probe).await
}

/// [`eventually`] with another deadline than 60 s, for waits that are known to be longer.
#[expect(clippy::disallowed_methods, reason = "an event of another process sends no notification, so this polls")]
pub async fn eventually_within<T, F, Fut>(deadline: Duration, what: &str, mut probe: F) -> Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Option<T>>,
{
    let began = Instant::now();
    let mut probes = 0_u64;
    let answer = tokio::time::timeout(deadline, async {
        loop {
            probes += 1;
            if let Some(answer) = probe().await {
                return answer;
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
    .await;
    match answer {
        Ok(answer) => Ok(answer),
        Err(_) => bail!("waited {:?} ({probes} probes) and it did not happen: {what}", began.elapsed()),
    }
}
