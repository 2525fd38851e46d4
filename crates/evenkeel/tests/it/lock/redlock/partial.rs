//! Processes that can reach only some of the servers.

use super::fleet::{Fleet, NAME, TTL, held_on, take};
use crate::lock::side::rig::{in_time, until};
use evenkeel::lock::Redlock;
use std::time::Duration;
use testkit::proxy::{Direction, Proxy};
use testkit::step_command;

/// A process that cannot reach this server.
async fn without(fleet: &Fleet, server: usize) -> (Redlock, Proxy) {
    let proxy = Proxy::start(port(fleet.url()), 1).await.unwrap();
    proxy.refuse(true).await.unwrap();
    let away = |at: usize, url: &str| if at == server { proxy.url(url) } else { url.to_owned() };
    (fleet.process_through(away).await, proxy)
}

fn port(url: &str) -> u16 {
    url.rsplit(':').next().and_then(|tail| tail.split(['/', '?']).next()?.parse().ok()).unwrap()
}

/// (an unsound fence) The maximum of the servers' fences is not enough: with a clock that is ahead among the servers of the
/// first holder and not among those of the second, the second one's fence was lower.
// shows: K2, hazard L9, lock::Redlock
#[tokio::test]
async fn fences_rise_though_server_clocks_differ() {
    in_time(async {
        let fleet = Fleet::redis().await;
        fleet.put_ahead(0, Duration::from_secs(3_600)).await;
        let ((one, _one), (two, _two)) = (without(&fleet, 2).await, without(&fleet, 0).await);
        let first = take(&one).await;
        let highest = first.fence();
        first.release().await.unwrap();
        assert!(take(&two).await.fence() > highest);
    })
    .await;
}

/// A server whose reply was lost, or came too late, kept the lock of a failed contender for a whole lease.
// shows: K5, hazard L9, spec/lock.md
#[tokio::test]
async fn possible_grants_are_released_after_a_failed_round() {
    in_time(async {
        let fleet = Fleet::redis().await;
        let (holder, _proxy) = without(&fleet, 2).await;
        let proxy = Proxy::start(port(fleet.url()), 1).await.unwrap();
        let slow = |at: usize, url: &str| if at == 2 { proxy.url(url) } else { url.to_owned() };
        let contender = fleet.process_through(slow).await;
        // The first script on a way is sent anew; then it is the acquisition's turn.
        take(&contender).await.release().await.unwrap();
        until(async || held_on(&contender).await == [false; 3]).await;
        let guard = take(&holder).await;
        let mut hold = proxy.hold(Direction::ToServer, step_command());
        assert!(contender.lock(NAME).ttl(TTL).try_acquire().await.unwrap().is_none());
        hold.reached().await.unwrap();
        drop(hold);
        // Time is frozen: no lease expires. The contender's request follows the held one on the same connection.
        until(async || held_on(&contender).await == [true, true, false]).await;
        assert!(!guard.is_lost());
    })
    .await;
}
