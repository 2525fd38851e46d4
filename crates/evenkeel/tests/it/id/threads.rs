//! Many threads share one generator, while its lease is lost and its worker id changes.

use super::{LEASE, assert_distinct, begin, begun, narrow, wide};
use crate::in_time;
use crate::rig::Fleet;
use evenkeel::id::Id;
use futures_util::FutureExt;
use std::time::Duration;

const THREADS: usize = 4;
const EACH: usize = 20_000;

/// (I1, I2) No two threads get the same id, and the ids of each thread rise.
// shows: I1, I2, hazard GI10
#[tokio::test]
async fn threads_share_a_generator_without_a_repeat() {
    in_time(async {
        for layout in [wide(), narrow(10)] {
            let fleet = Fleet::memory();
            let ids = begun(&fleet, &fleet.process().await, layout).await;
            let all: Vec<Vec<Id>> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS)
                    .map(|_| {
                        scope.spawn(|| {
                            let mut taken = Vec::new();
                            while taken.len() < EACH {
                                taken.extend(ids.try_next());
                            }
                            taken
                        })
                    })
                    .collect();
                // The embedded store replies at once, so this runtime can be driven from here.
                while threads.iter().any(|thread| !thread.is_finished()) {
                    let lost = async {
                        fleet.advance(LEASE).await;
                        ids.extend_once().await.unwrap();
                        begin(&fleet, &ids).await;
                        fleet.advance(Duration::from_millis(1)).await;
                    };
                    assert!(tokio::task::unconstrained(lost).now_or_never().is_some(), "nothing is waited for");
                    std::thread::yield_now();
                }
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(all.iter().all(|of_thread| of_thread.is_sorted()), "the ids of a thread rise");
            assert_distinct(all.concat());
        }
    })
    .await;
}
