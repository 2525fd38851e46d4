//! Room for connections: bounded in all and by source, with a reserve in which nobody stays long.
//!
//! What a connection is for is known only once its request has come. So nobody is turned away: who finds no ordinary place, or has
//! more than one source's share of them, gets a brief one, which ends unless a request follows at once, and after one answer. A
//! crowd of idle connections then cannot keep a probe from its answer.

use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{info, warn};

/// Ordinary connections at once. Each costs a file and some 10 KiB.
const CONNECTIONS_MAX: usize = 8192;

/// Files that the process needs for other things: databases, Redis, logs, brief connections.
const OTHER_FILES: u64 = 512;

/// Brief connections at once.
const BRIEF_MAX: usize = 64;

/// One source's share of the ordinary places is one of so many parts. A proxy in front of the service is one source.
const SHARES: usize = 2;

/// The places of one listener.
pub(crate) struct Room {
    places: Arc<Places>,
    brief: Arc<Semaphore>,
    brief_total: Counter,
}

struct Places {
    total: usize,
    share: usize,
    taken: Mutex<Taken>,
    is_crowded: AtomicBool,
    connections: Gauge,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_source: HashMap<IpAddr, usize>,
}

/// A place, until it is dropped.
pub(crate) struct Place {
    /// Given back when this is dropped.
    _held: Held,
    /// Whether it is one of the reserve.
    pub(crate) is_brief: bool,
}

enum Held {
    Ordinary { _place: Ordinary },
    Brief { _permit: Option<OwnedSemaphorePermit> },
}

struct Ordinary {
    source: IpAddr,
    places: Arc<Places>,
}

impl Room {
    /// As much room as the system gives this process files for, and no more than is of use.
    pub(crate) fn for_this_process() -> Self {
        let files = usize::try_from(files_max().saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX);
        let total = files.clamp(BRIEF_MAX, CONNECTIONS_MAX);
        info!(connections = total, by_source = total / SHARES, "connections at once");
        Self::of(total)
    }

    fn of(total: usize) -> Self {
        describe_gauge!("web_connections", "Connections that are open, without brief ones");
        describe_counter!(
            "web_connections_brief_total",
            "Connections that found no ordinary place and were kept short"
        );
        let places = Places {
            total,
            share: total / SHARES,
            taken: Mutex::default(),
            is_crowded: AtomicBool::new(false),
            connections: gauge!("web_connections"),
        };
        let brief_total = counter!("web_connections_brief_total");
        Self { places: Arc::new(places), brief: Arc::new(Semaphore::new(BRIEF_MAX)), brief_total }
    }

    /// A place for a connection from `source`; waits if even the brief ones are taken.
    pub(crate) async fn place(&self, source: IpAddr) -> Place {
        if let Some(place) = self.ordinary(source) {
            return Place { _held: Held::Ordinary { _place: place }, is_brief: false };
        }
        self.brief_total.increment(1);
        // The semaphore is never closed.
        let permit = Arc::clone(&self.brief).acquire_owned().await.ok();
        Place { _held: Held::Brief { _permit: permit }, is_brief: true }
    }

    fn ordinary(&self, source: IpAddr) -> Option<Ordinary> {
        let places = &self.places;
        let mut taken = places.taken();
        let of_source = taken.by_source.get(&source).copied().unwrap_or(0);
        if taken.all >= places.total || of_source >= places.share {
            if !places.is_crowded.swap(true, Ordering::Relaxed) {
                warn!(%source, of_source, all = taken.all, "too many connections: further ones are kept short");
            }
            return None;
        }
        taken.all += 1;
        taken.by_source.insert(source, of_source + 1);
        places.connections.set(taken.all as f64);
        Some(Ordinary { source, places: Arc::clone(places) })
    }
}

impl Places {
    fn taken(&self) -> std::sync::MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ordinary {
    fn drop(&mut self) {
        let places = &self.places;
        let mut taken = places.taken();
        taken.all -= 1;
        let left = taken.by_source.get(&self.source).map_or(0, |count| count - 1);
        if left == 0 {
            taken.by_source.remove(&self.source);
        } else {
            taken.by_source.insert(self.source, left);
        }
        places.connections.set(taken.all as f64);
        // Half of a share, so that a crowd at the limit is not told of again and again.
        if left < places.share / 2 && taken.all < places.total / 2 && places.is_crowded.swap(false, Ordering::Relaxed) {
            info!(all = taken.all, "there is room for connections again");
        }
    }
}

/// How many files this process may open, after asking for as many as it may ask for.
fn files_max() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // Whatever the system says to it, what counts is what it says afterwards.
    let _ = setrlimit(Resource::Nofile, wanted);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{BRIEF_MAX, Room};
    use std::net::{IpAddr, Ipv4Addr};

    #[tokio::test]
    async fn source_with_its_share_leaves_room_for_others() {
        let (one, other) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)));
        let room = Room::of(8);
        let mut held = Vec::new();
        for _ in 0..4 {
            let place = room.place(one).await;
            assert!(!place.is_brief);
            held.push(place);
        }
        assert!(room.place(one).await.is_brief, "its share is taken");
        assert!(!room.place(other).await.is_brief);
        held.pop();
        assert!(!room.place(one).await.is_brief, "a place was given back");
        held.clear();
        assert!(room.places.taken().by_source.is_empty(), "nothing is remembered of who is gone");
        assert_eq!(room.brief.available_permits(), BRIEF_MAX);
    }
}
