//! Streams while their consumers are killed and stopped: the entries of the producer are compared with a SQL log of the handlers' effects.
//!
//! Each handler writes the fence of its partition, a run, and through the inbox an effect, in one transaction. What is checked: every entry
//! is done or a dead letter, and none is both; the effects of a key are in the order of its appends, each once; runs of an entry of the log
//! after its first have a higher fence, so that another lease of the partition lies between them. Only a registered stream that Redis has lost
//! has an entry in its log twice, under two ids: one recovery is begun again by a program that finds it unfinished, and a relay that was
//! stopped sends what is sent again. Both copies may be handled under one lease. A run with a flush also reads, in the step that
//! flushes, what Redis holds: only entries of this may be lost, because they were appended directly. If the stream is registered in a database
//! and units of work append the entries, only dead letters may be lost.

mod fleet;
mod flush;
mod ledger;
mod registered;

use fleet::{Fleet, Pace};
use flush::Server;
use ledger::Tally;
use std::time::Duration;
use testkit::park::redis;
use testkit::servers::{Redis, RedisOptions};

/// The number of entries and of keys of the long run, and whether Redis is flushed.
const ENTRIES: &str = "EVENKEEL_SIM_ENTRIES";

/// (T2, T3, T6) A killed or stopped owner lost entries, handled them out of order, or wrote after its successor.
// shows: T2, T3, T6, T8, hazard X12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_are_handled_in_order_when_consumers_are_killed() {
    let tally = run(1_500, 20, 3, Pace::Shares(5), false).await;
    assert_eq!((tally.kills, tally.stops), (3, 2), "{tally:?}");
}

/// A flush must lose nothing but what Redis held, must not mix up the order of a key, and must bring no entry back.
// shows: T3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flush_loses_only_what_redis_held() {
    let tally = run_with_flush(1_500, 20, 3, Pace::Shares(0), false).await;
    // The last quarter was appended afterwards.
    assert!(tally.flushed > 0 && tally.effects + tally.dead_letters > 1_500 / 4, "{tally:?}");
}

/// (T7) A flush must lose no entry of a unit of work, though the relays that send them again are killed as well.
// shows: T7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flush_loses_only_dead_letters_of_a_registered_stream() {
    let tally = run_with_flush(1_500, 20, 3, Pace::Shares(3), true).await;
    // One entry of each key is poison.
    assert!(tally.sent_again > 0 && tally.effects == 1_500 - 20, "{tally:?}");
}

/// The long run of `cargo xtask sim stream`: one line with what it counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the long run, for `cargo xtask sim stream`"]
async fn long_run() {
    let Ok(scale) = std::env::var(ENTRIES) else { return };
    let mut scale = scale.split(' ').map(|number| number.parse::<usize>().unwrap());
    let mut next = || scale.next().unwrap();
    let (entries, keys, flushes, is_registered) = (next(), next(), next(), next() > 0);
    let pace = Pace::Every(Duration::from_secs(3));
    if flushes == 0 {
        run(entries, keys, 4, pace, is_registered).await;
    } else {
        run_with_flush(entries, keys, 4, pace, is_registered).await;
    }
}

async fn run(entries: usize, keys: usize, workers: usize, pace: Pace, is_registered: bool) -> Tally {
    let server = Server::Shared(redis().await.unwrap());
    let mut fleet = Fleet::start(keys, workers, server, is_registered).await;
    fleet.append(entries).await;
    checked(fleet, pace).await
}

async fn run_with_flush(entries: usize, keys: usize, workers: usize, pace: Pace, is_registered: bool) -> Tally {
    let server = Redis::start(RedisOptions::new()).await.unwrap();
    let mut fleet = Fleet::start(keys, workers, Server::Own(server), is_registered).await;
    fleet.append_around_a_flush(entries).await;
    checked(fleet, pace).await
}

async fn checked(mut fleet: Fleet, pace: Pace) -> Tally {
    fleet.work(&pace).await;
    let tally = fleet.end().await;
    println!("{}", serde_json::to_string(&tally).unwrap());
    assert_eq!((tally.lost, tally.strange, tally.done_and_dead, tally.dead_twice), (0, 0, 0, 0), "{tally:?}");
    assert_eq!((tally.out_of_order, tally.twice_under_one_fence), (0, 0), "{tally:?}");
    assert!(tally.appended_again == 0 || tally.sent_again > 0, "{tally:?}");
    tally
}
