//! What the tasks of one process that wait for a lock cost its Redis: as much as one of them.

use super::rig::{TTL, in_time};
use crate::rig::Fleet;
use evenkeel::Keel;
use evenkeel::lock::Wait;
use std::time::Duration;
use testkit::step_command;

const FEW: usize = 2;
const MANY: usize = 60;

/// What the tasks wait for.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Exclusive,
    Permits,
    Readers,
    Writers,
}

/// How many steps Redis has run so far.
async fn steps(fleet: &Fleet) -> usize {
    let info = fleet.command(b"", redis::cmd("INFO").arg("commandstats")).await;
    let text: String = redis::from_redis_value(info).unwrap();
    let prefix = format!("cmdstat_{}:calls=", step_command().to_lowercase());
    let line = text.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap();
    line.split(',').next().unwrap().parse().unwrap()
}

async fn wait(keel: Keel, kind: Kind) {
    match kind {
        Kind::Exclusive => drop(keel.lock("stock/42").ttl(TTL).wait(Wait::Forever).acquire().await.unwrap()),
        Kind::Permits => {
            drop(keel.semaphore("desks", 3).take(1).ttl(TTL).wait(Wait::Forever).acquire().await.unwrap());
        }
        Kind::Readers => drop(keel.rw_lock("shelf").read().ttl(TTL).wait(Wait::Forever).acquire().await.unwrap()),
        Kind::Writers => drop(keel.rw_lock("shelf").write().ttl(TTL).wait(Wait::Forever).acquire().await.unwrap()),
    }
}

/// The steps that Redis runs in ten seconds while this many tasks of one process wait for what another process holds.
async fn steps_of(kind: Kind, tasks: usize) -> usize {
    let fleet = Fleet::own_redis().await;
    let (holder, waiter) = (fleet.process_that_reports(false).await, fleet.process_that_reports(false).await);
    let _lock = holder.lock("stock/42").ttl(TTL).acquire().await.unwrap();
    let _permits = holder.semaphore("desks", 3).take(3).ttl(TTL).acquire().await.unwrap();
    let shelf = holder.rw_lock("shelf");
    let _shelf = match kind {
        Kind::Writers => shelf.read().ttl(TTL).acquire().await.unwrap(),
        _ => shelf.write().ttl(TTL).acquire().await.unwrap(),
    };
    let tasks: Vec<_> = (0..tasks).map(|_| tokio::spawn(wait(waiter.clone(), kind))).collect();
    let waiting = async || match kind {
        Kind::Exclusive => holder.lock("stock/42").inspect().await.unwrap().map_or(0, |state| state.waiting),
        Kind::Permits => holder.semaphore("desks", 3).inspect().await.unwrap().map_or(0, |state| state.waiting),
        Kind::Readers | Kind::Writers => {
            holder.rw_lock("shelf").inspect().await.unwrap().map_or(0, |state| state.waiting)
        }
    };
    while waiting().await == 0 {
        tokio::task::yield_now().await;
    }
    let before = steps(&fleet).await;
    for _ in 0..100 {
        fleet.advance(Duration::from_millis(100)).await;
        // Each task that has woken has asked by the time of the second reply.
        for _ in 0..2 {
            fleet.command(b"", &redis::cmd("PING")).await;
        }
    }
    let ran = steps(&fleet).await - before;
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    ran
}

/// Each of 400 waiting tasks polled by itself: the server had no time for anything else, and calls of other tasks got no answer.
// shows: hazard BL2
#[tokio::test]
async fn polls_of_a_process_do_not_grow_with_its_tasks() {
    for kind in [Kind::Exclusive, Kind::Permits, Kind::Readers, Kind::Writers] {
        in_time(async {
            let (few, many) = (steps_of(kind, FEW).await, steps_of(kind, MANY).await);
            println!("{kind:?}: {few} steps with {FEW} tasks that wait, {many} with {MANY}");
            assert!(
                few > 0 && many < 3 * few + 10,
                "{kind:?}: {few} steps with {FEW} tasks that wait, {many} with {MANY}"
            );
        })
        .await;
    }
}
