//! Large calls use a dedicated connection, so that small calls do not wait behind them, with a time-out that grows with their size.

use crate::args::Args;
use evenkeel_link::support::guard;
use evenkeel_link::{Blocking, Link, LinkError, Script};
use redis::{Cmd, Value};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// Calls with larger arguments do not use the shared connection.
pub(crate) const SHARED_BYTES_MAX: usize = 1 << 20;
/// The maximum size of the bodies in one call.
const PART_BYTES_MAX: usize = 4 << 20;

/// The connection for large calls, opened when it is first needed. One call at a time: a caller that reads a large body piece by piece
/// lets other calls in between.
#[derive(Clone, Default)]
pub(crate) struct Bulk(Arc<Mutex<Option<Box<dyn Connection>>>>);

type Opening<'a> = Pin<Box<dyn Future<Output = Result<Blocking, LinkError>> + Send + 'a>>;
type Call<'a> = Pin<Box<dyn Future<Output = Result<Value, LinkError>> + Send + 'a>>;

/// [`Blocking`] behind a trait object: with the concrete type, the futures of all senders would exceed the compiler's default
/// recursion limit.
trait Connection: Send + Sync {
    fn command<'a>(&'a mut self, cmd: &'a Cmd, bytes: u64) -> Call<'a>;
    fn run<'a>(&'a mut self, script: &'static Script, key: &'a [u8], args: &'a Args, bytes: u64) -> Call<'a>;
    fn is_open(&self) -> bool;
}

impl Connection for Blocking {
    fn command<'a>(&'a mut self, cmd: &'a Cmd, bytes: u64) -> Call<'a> {
        Box::pin(Self::command(self, cmd, timeout_for(bytes)))
    }

    fn run<'a>(&'a mut self, script: &'static Script, key: &'a [u8], args: &'a Args, bytes: u64) -> Call<'a> {
        Box::pin(async move { Self::run(self, script, &[key], &args.slices(), timeout_for(bytes)).await })
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
    pub(crate) async fn command(&self, link: &Link, cmd: &Cmd, bytes: u64) -> Result<Value, LinkError> {
        let mut place = self.0.lock().await;
        open(&mut place, link).await?.command(cmd, bytes).await
    }

    /// Runs one script with about `bytes` bytes of arguments or reply.
    pub(crate) async fn run(
        &self,
        link: &Link,
        script: &'static Script,
        key: &[u8],
        args: &Args,
        bytes: u64,
    ) -> Result<Value, LinkError> {
        let mut place = self.0.lock().await;
        open(&mut place, link).await?.run(script, key, args, bytes).await
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

/// Splits items into parts of a few MiB; a larger item is a part of its own. An empty slice is one part, so that a call is made.
pub(crate) fn parts<T>(items: &[T], bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let (mut parts, mut begin, mut sum) = (Vec::new(), 0, 0);
    for (at, item) in items.iter().enumerate() {
        let size = bytes(item);
        if at > begin && sum + size > PART_BYTES_MAX {
            parts.push(&items[begin..at]);
            (begin, sum) = (at, 0);
        }
        sum += size;
    }
    parts.push(&items[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::{PART_BYTES_MAX, parts, timeout_for};
    use std::time::Duration;

    /// A reply of 20 MiB had the time of a small one: it timed out at every attempt.
    #[test]
    fn deadline_grows_with_the_bytes() {
        let seconds = [0, 1, 1 << 20, (1 << 20) + 1, 20 << 20].map(|bytes| timeout_for(bytes).as_secs());
        assert_eq!(seconds, [0, 1, 1, 2, 20]);
        assert!(timeout_for(u64::MAX) > Duration::from_hours(1), "no overflow");
    }

    #[test]
    fn call_has_at_most_four_mebibytes() {
        let half = PART_BYTES_MAX / 2;
        let cut = |sizes: &[usize]| parts(sizes, |size| *size).iter().map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(cut(&[]), [0], "one call");
        assert_eq!(cut(&[1]), [1]);
        assert_eq!(cut(&[half, half, 1]), [2, 1]);
        assert_eq!(cut(&[half, half + 1, 0]), [1, 2]);
        assert_eq!(cut(&[0, PART_BYTES_MAX + 1, 0]), [1, 1, 1], "a larger one goes alone");
        let sizes = [900_000; 100];
        assert_eq!(cut(&sizes).iter().sum::<usize>(), sizes.len());
        assert!(parts(&sizes, |size| *size).iter().all(|part| part.iter().sum::<usize>() <= PART_BYTES_MAX));
    }
}
