//! A Redis that was flushed under its readers must not become an outage of the database.

use crate::cache::reads::rig::Rows;
use evenkeel::Keel;
use evenkeel::cache::CacheError;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};
use tokio::sync::watch;
use tokio::task::JoinSet;

const KEYS: u64 = 10_000;
const READERS: u64 = 500;
const BOUND: usize = 16;

/// The number of readers that get neither a load permit nor a waiter's place when all arrive at once.
const SHED_MIN: usize = 500 - 300 - BOUND;

/// Counts the loads that run at once. None ends before as many run as allowed, and as many readers were rejected as
/// expected: otherwise the first could be served before the last have asked.
#[derive(Clone)]
struct Loads(Arc<Counts>);

struct Counts {
    running: AtomicUsize,
    peak: watch::Sender<usize>,
    shed: watch::Sender<usize>,
}

impl Loads {
    fn new() -> Self {
        Self(Arc::new(Counts {
            running: AtomicUsize::new(0),
            peak: watch::Sender::new(0),
            shed: watch::Sender::new(0),
        }))
    }

    fn load(&self, key: u64) -> impl Future<Output = Result<Option<String>, Infallible>> + Send + use<> {
        let loads = Arc::clone(&self.0);
        async move {
            let running = loads.running.fetch_add(1, SeqCst) + 1;
            loads.peak.send_if_modified(|peak| {
                let is_higher = running > *peak;
                *peak = running.max(*peak);
                is_higher
            });
            let _ = loads.peak.subscribe().wait_for(|peak| *peak >= BOUND).await;
            let _ = loads.shed.subscribe().wait_for(|shed| *shed >= SHED_MIN).await;
            // Lets further loads start, if there are any.
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
            loads.running.fetch_sub(1, SeqCst);
            Ok(Some(key.to_string()))
        }
    }

    fn peak(&self) -> usize {
        *self.0.peak.borrow()
    }
}

/// Reads its share of the keys, one after another. Returns how many reads were served, and how many were rejected.
async fn read(rows: Rows, loads: Loads, reader: u64) -> (usize, usize) {
    let (mut served, mut shed) = (0, 0);
    for key in (reader..KEYS).step_by(usize::try_from(READERS).unwrap()) {
        match rows.get(&key, |key| loads.load(*key)).await {
            Ok(row) => {
                assert_eq!(row.as_deref(), Some(&key.to_string()));
                served += 1;
            }
            Err(CacheError::Busy { limit: 300 }) => {
                shed += 1;
                loads.0.shed.send_modify(|shed| *shed += 1);
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    (served, shed)
}

/// 500 concurrent readers read 10,000 different keys of a Redis that has just lost them all.
///
/// On a busy machine it took longer than the default load budget of three seconds to fill them: nine in ten were not stored, and the
/// reader that is to find all of them met a load that waits for the flood.
// shows: C9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flush_of_redis_keeps_loads_within_loads_max() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let minute = Duration::from_secs(60);
    let rows = keel.cache("row").ttl(10 * minute).store_timeout(minute).wait_max(minute);
    let rows = rows.lease(minute).load_budget(minute).load_timeout(minute);
    let rows: Rows = rows.loads_max(BOUND).waiters_max(300).open().await.unwrap();
    let keys: Vec<u64> = (0..KEYS).collect();
    let filled = rows.get_many(&keys, |missing| async move {
        Ok::<_, Infallible>(missing.into_iter().map(|key| (key, key.to_string())).collect::<Vec<_>>())
    });
    assert_eq!(filled.await.unwrap().len(), keys.len());
    let calm = Loads::new();
    assert_eq!(read(rows.clone(), calm.clone(), 0).await, (20, 0));
    assert_eq!(calm.peak(), 0, "everything is cached");

    redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    let loads = Loads::new();
    let readers: JoinSet<_> = (0..READERS).map(|reader| read(rows.clone(), loads.clone(), reader)).collect();
    let report = tokio::time::timeout(minute, readers.join_all()).await.expect("the readers stand still");
    let (served, shed) = report.into_iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert_eq!(loads.peak(), BOUND);
    assert_eq!(served + shed, keys.len());
    assert!(shed >= SHED_MIN, "as many as could neither load nor wait: {shed}");
}
