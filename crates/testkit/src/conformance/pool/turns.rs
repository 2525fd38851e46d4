//! The queue of waiters, and whose turn it is.

use super::rig::{Rig, owner, permits, polling, reader, waiting, writer};
use crate::conformance::lock::LEASE_MS;
use anyhow::{Context, Result};
use evenkeel_protocol::lock::pool::steps::{Inspect, PermitReply, PermitRequest, TURN_MS, WAITING_MS, WATCH_MS};
use evenkeel_protocol::lock::steps::{Call, Released};
use std::time::Duration;

/// Overlapping readers starved a writer.
// shows: K8, spec/lock.md
pub async fn waiting_writer_blocks_later_readers(rig: &Rig) -> Result<()> {
    rig.enter(&reader(1)).await?;
    assert_eq!(rig.shut_for(&waiting(writer(2))).await?, LEASE_MS);
    assert_eq!(rig.shut_for(&reader(3)).await?, WAITING_MS, "there is room, but not for later callers");
    assert_eq!(rig.leave(1).await?, Released::Released { others_waiting: 1 });
    assert_eq!(rig.shut_for(&waiting(reader(3))).await?, WAITING_MS);
    rig.enter(&waiting(writer(2))).await?;
    assert_eq!(rig.leave(2).await?, Released::Released { others_waiting: 1 });
    rig.enter(&waiting(reader(3))).await?;
    Ok(())
}

/// A writer that waited for one long reader would keep all others out for as long.
// shows: K8, spec/lock.md
pub async fn waiting_writer_lets_readers_pass_after_its_turn(rig: &Rig) -> Result<()> {
    rig.enter(&reader(1)).await?;
    let mut passed = Vec::new();
    for second in 0..40_u8 {
        rig.renew(1).await?;
        rig.shut_for(&waiting(writer(2))).await?;
        let asked = rig.pools.run(&rig.shelf, &reader(100 + second)).await?;
        if matches!(asked, PermitReply::Granted { .. }) {
            passed.push(second);
            rig.leave(100 + second).await?;
        }
        rig.time.advance(1_000).await?;
    }
    let turn = u8::try_from(TURN_MS / 1_000)?;
    let expected: Vec<u8> = (0..40).filter(|second| (second / turn) % 2 == 1).collect();
    assert_eq!(passed, expected, "ten seconds of each twenty");
    rig.leave(1).await?;
    rig.enter(&waiting(writer(2))).await?;
    Ok(())
}

/// A small request overtook an earlier request for many permits.
// shows: K8, spec/lock.md
pub async fn permits_are_granted_in_request_order(rig: &Rig) -> Result<()> {
    rig.sit(&permits(1, 2)).await?;
    rig.full_for(&waiting(permits(2, 3))).await?;
    rig.time.advance(1).await?;
    rig.full_for(&waiting(permits(3, 1))).await?;
    rig.stand_up(1).await?;
    rig.full_for(&waiting(permits(3, 1))).await?;
    rig.sit(&waiting(permits(2, 3))).await?;
    rig.stand_up(2).await?;
    rig.sit(&waiting(permits(3, 1))).await?;
    Ok(())
}

/// The first waiter to wake gets a permit, as long as there is enough for earlier ones.
// shows: K8
pub async fn permits_are_reserved_for_earlier_waiters(rig: &Rig) -> Result<()> {
    rig.sit(&permits(1, 3)).await?;
    for number in 2..=5 {
        rig.full_for(&waiting(permits(number, 1))).await?;
    }
    rig.stand_up(1).await?;
    rig.full_for(&waiting(permits(5, 1))).await?;
    rig.sit(&waiting(permits(4, 1))).await?;
    rig.full_for(&waiting(permits(5, 1))).await?;
    rig.sit(&waiting(permits(2, 1))).await?;
    rig.sit(&waiting(permits(3, 1))).await?;
    rig.stand_up(3).await?;
    rig.sit(&waiting(permits(5, 1))).await?;
    Ok(())
}

/// A waiter that gives up leaves the queue, so that later waiters are not blocked.
// shows: K8
pub async fn waiter_that_leaves_does_not_block_others(rig: &Rig) -> Result<()> {
    rig.enter(&reader(1)).await?;
    rig.shut_for(&waiting(writer(2))).await?;
    rig.shut_for(&reader(3)).await?;
    assert_eq!(rig.leave(2).await?, Released::Nothing, "it held nothing");
    rig.enter(&reader(3)).await?;
    Ok(())
}

/// A process that died while it waited keeps its place for two seconds.
// shows: K8, lock::RwBuilder::acquire, lock::PermitsBuilder::acquire
pub async fn silent_waiter_loses_its_place(rig: &Rig) -> Result<()> {
    rig.enter(&reader(1)).await?;
    rig.shut_for(&waiting(writer(2))).await?;
    rig.time.advance(WAITING_MS - 1).await?;
    assert_eq!(rig.shut_for(&reader(3)).await?, 1);
    assert_eq!(rig.pools.run(&rig.shelf, &Inspect).await?.map(|state| state.waiting), Some(1));
    rig.time.advance(1).await?;
    assert_eq!(rig.pools.run(&rig.shelf, &Inspect).await?.map(|state| state.waiting), Some(0));
    rig.enter(&reader(3)).await?;
    assert_eq!(rig.leave(1).await?, Released::Released { others_waiting: 0 });
    Ok(())
}

/// Asking again keeps the place; it does not begin at the end.
// shows: K8
pub async fn repeated_request_keeps_its_place_in_the_queue(rig: &Rig) -> Result<()> {
    rig.sit(&permits(1, 3)).await?;
    rig.full_for(&waiting(permits(2, 3))).await?;
    for _ in 0..4 {
        rig.time.advance(1_000).await?;
        rig.full_for(&waiting(permits(3, 3))).await?;
        rig.full_for(&waiting(permits(2, 3))).await?;
    }
    rig.stand_up(1).await?;
    rig.full_for(&waiting(permits(3, 3))).await?;
    rig.sit(&waiting(permits(2, 3))).await?;
    Ok(())
}

/// A process has one place at a time, so its second task takes a place after a task of another process that asked later.
// shows: K8, hazard BL2
pub async fn local_waiter_is_served_by_the_time_it_asked(rig: &Rig) -> Result<()> {
    rig.sit(&permits(1, 3)).await?;
    rig.time.advance(10).await?;
    rig.full_for(&waiting(permits(2, 3))).await?;
    rig.time.advance(10).await?;
    rig.full_for(&waiting(PermitRequest { waited_ms: 15, ..permits(3, 3) })).await?;
    rig.stand_up(1).await?;
    rig.full_for(&waiting(permits(2, 3))).await?;
    rig.sit(&waiting(permits(3, 3))).await?;
    Ok(())
}

/// 400 waiters polled once a second, and each poll read the places of all: a `PING` took 769 ms.
// shows: K8, hazard BL2
pub async fn poll_keeps_the_place_until_a_watch_is_due(rig: &Rig) -> Result<()> {
    let queued = async |number: u8| -> Result<()> {
        let reply = rig.pools.run(&rig.desks, &polling(permits(number, 3))).await?;
        anyhow::ensure!(reply == PermitReply::Queued, "{reply:?}");
        Ok(())
    };
    rig.sit(&PermitRequest { lease_ms: 1_500, ..permits(1, 3) }).await?;
    rig.full_for(&waiting(permits(2, 3))).await?;
    rig.full_for(&waiting(permits(3, 3))).await?;
    assert_eq!(rig.full_for(&polling(permits(2, 3))).await?, 1_500, "the first poll checks the pool");
    queued(3).await?;
    rig.time.advance(WATCH_MS - 1).await?;
    queued(2).await?;
    queued(3).await?;
    rig.time.advance(1).await?;
    assert_eq!(rig.full_for(&polling(permits(3, 3))).await?, 500, "a second after the last check");
    queued(2).await?;
    rig.time.advance(500).await?;
    assert_eq!(
        rig.full_for(&polling(permits(3, 3))).await?,
        1_500,
        "a lease has ended; an earlier waiter keeps its turn"
    );
    rig.sit(&waiting(permits(2, 3))).await?;
    Ok(())
}

/// The waiter that finds an expired lease is not the one whose turn it is.
// shows: K8, hazard BL2
pub async fn watch_notifies_the_waiter_with_room(rig: &Rig) -> Result<()> {
    rig.sit(&PermitRequest { lease_ms: 1_500, ..permits(1, 3) }).await?;
    for number in [2, 3] {
        rig.full_for(&waiting(permits(number, 3))).await?;
    }
    let mut listener = rig.pools.listen(&rig.desks).await?;
    rig.time.advance(1_500).await?;
    rig.full_for(&polling(permits(3, 3))).await?;
    let called = tokio::time::timeout(Duration::from_secs(20), listener.called(owner(2))).await;
    assert_eq!(called.context("the waiter was not notified")?, Call::You);
    rig.sit(&waiting(permits(2, 3))).await?;
    Ok(())
}
