//! Large calls use a dedicated connection, so that small calls do not wait behind them, with a time-out that grows with their size.

use super::Args;
use evenkeel_link::support::guard;
use evenkeel_link::{Blocking, Link, LinkError, Script};
use redis::{Cmd, Value};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// Calls with larger arguments do not use the shared connection.
pub const SHARED_BYTES_MAX: usize = 1 << 20;

/// The connection for large calls, opened when it is first needed. One call at a time: a caller that reads a large body piece by piece
/// lets other calls in between.
#[derive(Clone, Default)]
pub(super) struct Bulk(Arc<Mutex<Option<Box<dyn Connection>>>>);

type Opening<'a> = Pin<Box<dyn Future<Output = Result<Blocking, LinkError>> + Send + 'a>>;
type Call<'a> = Pin<Box<dyn Future<Output = Result<Value, LinkError>> + Send + 'a>>;

/// [`Blocking`] behind a trait object: with the concrete type, the futures of all senders would exceed the compiler's default
/// recursion limit.
trait Connection: Send + Sync {
    fn command<'a>(&'a mut self, cmd: &'a Cmd, bytes: u64) -> Call<'a>;
    fn run<'a>(&'a mut self, script: &'static Script, keys: &'a [&'a [u8]], args: &'a Args, bytes: u64) -> Call<'a>;
    fn is_open(&self) -> bool;
}

impl Connection for Blocking {
    fn command<'a>(&'a mut self, cmd: &'a Cmd, bytes: u64) -> Call<'a> {
        Box::pin(Self::command(self, cmd, timeout_for(bytes)))
    }

    fn run<'a>(&'a mut self, script: &'static Script, keys: &'a [&'a [u8]], args: &'a Args, bytes: u64) -> Call<'a> {
        Box::pin(async move { Self::run(self, script, keys, &args.slices(), timeout_for(bytes)).await })
    }

    fn is_open(&self) -> bool {
        Self::is_open(self)
    }
}

/// Added to the link's response time-out, which is sized for small calls.
fn timeout_for(bytes: u64) -> Duration {
    if guard("queue_bulk_deadline") { Duration::from_secs(bytes.div_ceil(1 << 20)) } else { Duration::ZERO }
}

impl Bulk {
    /// Sends one command with about `bytes` bytes of arguments or reply.
    pub(super) async fn command(&self, link: &Link, cmd: &Cmd, bytes: u64) -> Result<Value, LinkError> {
        let mut place = self.0.lock().await;
        open(&mut place, link).await?.command(cmd, bytes).await
    }

    /// Runs one script with about `bytes` bytes of arguments or reply.
    pub(super) async fn run(
        &self,
        link: &Link,
        script: &'static Script,
        keys: &[&[u8]],
        args: &Args,
        bytes: u64,
    ) -> Result<Value, LinkError> {
        let mut place = self.0.lock().await;
        open(&mut place, link).await?.run(script, keys, args, bytes).await
    }
}

async fn open<'a>(
    place: &'a mut Option<Box<dyn Connection>>,
    link: &Link,
) -> Result<&'a mut dyn Connection, LinkError> {
    let connection = match place.take().filter(|connection| connection.is_open()) {
        Some(connection) => connection,
        None => {
            let opening: Opening<'_> = Box::pin(link.blocking());
            Box::new(opening.await?)
        }
    };
    Ok(&mut **place.insert(connection))
}

#[cfg(test)]
mod tests {
    use super::timeout_for;
    use std::time::Duration;

    /// A reply of 20 MiB had the time of a small one: it timed out at every attempt.
    // shows: hazard F7
    #[test]
    fn deadline_grows_with_the_bytes() {
        let seconds = [0, 1, 1 << 20, (1 << 20) + 1, 20 << 20].map(|bytes| timeout_for(bytes).as_secs());
        assert_eq!(seconds, [0, 1, 1, 2, 20]);
        assert!(timeout_for(u64::MAX) > Duration::from_hours(1), "no overflow");
    }
}
