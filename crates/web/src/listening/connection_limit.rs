//! [`ConnectionLimit`]: bounds open connections in total and per source address, and keeps a reserve.
//!
//! The purpose of a connection is known only after its request has arrived, so none is refused. A connection beyond a limit gets a
//! reserve slot: it serves one request, which must arrive at once. Idle connections, however many, cannot block a health check.

use metrics::{Counter, Gauge, counter, gauge};
use parking_lot::Mutex;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{info, warn};

/// Upper bound of the total limit. A connection costs a file descriptor and about 10 KiB.
const CONNECTIONS_MAX: usize = 8192;

/// File descriptors kept for everything else: databases, Redis, logs, the reserve.
const OTHER_FILES: u64 = 512;

/// Slots of the reserve.
const RESERVE: usize = 64;

/// One source address may hold 1/`SHARES` of the total. A reverse proxy is one source.
const SHARES: usize = 2;

/// The limits of one listener.
pub(crate) struct ConnectionLimit {
    open: Arc<Open>,
    reserve: Arc<Semaphore>,
    reserve_total: Counter,
}

struct Open {
    total_max: usize,
    per_source_max: usize,
    counts: Mutex<Counts>,
    was_reached: AtomicBool,
    connections: Gauge,
}

#[derive(Default)]
struct Counts {
    total: usize,
    by_source: HashMap<IpAddr, usize>,
}

/// The right to one open connection; released on drop.
pub(crate) struct Slot {
    _permit: Permit,
    /// Whether it belongs to the reserve.
    pub(crate) is_reserve: bool,
}

enum Permit {
    Ordinary { _permit: Ordinary },
    Reserve { _permit: Option<OwnedSemaphorePermit> },
}

struct Ordinary {
    source: IpAddr,
    open: Arc<Open>,
}

impl ConnectionLimit {
    /// The limit that the process's file descriptors allow, at most [`CONNECTIONS_MAX`].
    pub(crate) fn for_this_process() -> Self {
        let files = usize::try_from(files_max().saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX);
        let total = files.clamp(RESERVE, CONNECTIONS_MAX);
        info!(total, per_source = total / SHARES, "connection limits");
        Self::of(total)
    }

    fn of(total_max: usize) -> Self {
        let open = Open {
            total_max,
            per_source_max: total_max / SHARES,
            counts: Mutex::default(),
            was_reached: AtomicBool::new(false),
            connections: gauge!("web_connections"),
        };
        let reserve_total = counter!("web_connections_brief_total");
        Self { open: Arc::new(open), reserve: Arc::new(Semaphore::new(RESERVE)), reserve_total }
    }

    /// A slot for a connection from `source`; waits if the reserve is exhausted, too.
    pub(crate) async fn acquire(&self, source: IpAddr) -> Slot {
        if let Some(permit) = self.try_ordinary(source) {
            return Slot { _permit: Permit::Ordinary { _permit: permit }, is_reserve: false };
        }
        self.reserve_total.increment(1);
        // The semaphore is never closed.
        let permit = Arc::clone(&self.reserve).acquire_owned().await.ok();
        Slot { _permit: Permit::Reserve { _permit: permit }, is_reserve: true }
    }

    fn try_ordinary(&self, source: IpAddr) -> Option<Ordinary> {
        let open = &self.open;
        let mut counts = open.counts.lock();
        let of_source = counts.by_source.get(&source).copied().unwrap_or(0);
        if counts.total >= open.total_max || of_source >= open.per_source_max {
            if !open.was_reached.swap(true, Ordering::Relaxed) {
                let total = counts.total;
                warn!(%source, of_source, total, "connection limit reached: further connections serve one request each");
            }
            return None;
        }
        counts.total += 1;
        counts.by_source.insert(source, of_source + 1);
        open.connections.set(counts.total as f64);
        Some(Ordinary { source, open: Arc::clone(open) })
    }
}

impl Drop for Ordinary {
    fn drop(&mut self) {
        let open = &self.open;
        let mut counts = open.counts.lock();
        counts.total -= 1;
        let left = counts.by_source.get(&self.source).map_or(0, |count| count - 1);
        if left == 0 {
            counts.by_source.remove(&self.source);
        } else {
            counts.by_source.insert(self.source, left);
        }
        open.connections.set(counts.total as f64);
        // Half of the limits: a load that oscillates around them would otherwise log each time.
        let is_low = left < open.per_source_max / 2 && counts.total < open.total_max / 2;
        if is_low && open.was_reached.swap(false, Ordering::Relaxed) {
            info!(total = counts.total, "connections are below the limit again");
        }
    }
}

/// The limit of open files, after raising it to the hard limit.
fn files_max() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let requested = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // If the system refuses, the next line reads the unchanged limit.
    let _ = setrlimit(Resource::Nofile, requested);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{ConnectionLimit, RESERVE};
    use std::net::{IpAddr, Ipv4Addr};

    // shows: hazard S4
    #[tokio::test]
    async fn source_at_its_limit_leaves_slots_for_others() {
        let (one, other) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)));
        let limit = ConnectionLimit::of(8);
        let mut held = Vec::new();
        for _ in 0..4 {
            let slot = limit.acquire(one).await;
            assert!(!slot.is_reserve);
            held.push(slot);
        }
        assert!(limit.acquire(one).await.is_reserve, "the source is at its limit");
        assert!(!limit.acquire(other).await.is_reserve);
        held.pop();
        assert!(!limit.acquire(one).await.is_reserve, "a slot was released");
        held.clear();
        assert!(limit.open.counts.lock().by_source.is_empty(), "a source without connections is removed");
        assert_eq!(limit.reserve.available_permits(), RESERVE);
    }
}
