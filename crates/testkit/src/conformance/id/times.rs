//! Reserved time: what no two owners may have.

use super::rig::{Rig, SETTINGS, refused};
use anyhow::Result;
use evenkeel_protocol::id::steps::{Acquire, Call, Extend, Refused};

const HOUR: u64 = 3_600_000;

/// The first id comes after the margin, and from then on time is reserved ahead.
pub async fn first_time_is_reserved_after_the_margin(rig: &Rig) -> Result<()> {
    let began = rig.time.now();
    let first = rig.acquire(1).await?;
    assert_eq!((first.now_ms, first.from_ms), (began, began + SETTINGS.ahead_ms + SETTINGS.margin_ms));
    assert_eq!(first.until_ms, first.from_ms, "nothing yet");
    rig.time.advance(SETTINGS.margin_ms).await?;
    assert_eq!(rig.extend(1, 0).await?.until_ms, first.from_ms, "still nothing");
    rig.time.advance(1).await?;
    let more = rig.extend(1, 0).await?;
    assert_eq!((more.from_ms, more.until_ms), (first.from_ms, first.from_ms + 1));
    assert_eq!(rig.keep(1, 0, 60).await?.until_ms, rig.time.now() + SETTINGS.ahead_ms);
    Ok(())
}

/// (I1) A new owner begins above everything that was reserved before with its worker id.
pub async fn new_owner_begins_above_all_reserved_time(rig: &Rig) -> Result<()> {
    let mut reserved = 0;
    for number in 1..20 {
        let begun = rig.acquire(number).await?;
        assert!(begun.worker == 0 && begun.from_ms >= reserved, "{begun:?} after {reserved}");
        rig.time.advance(SETTINGS.margin_ms + 1).await?;
        reserved = rig.extend(number, 0).await?.until_ms;
        if number % 2 == 0 {
            let _released = rig.release(number, 0).await?;
        } else {
            rig.time.advance(SETTINGS.lease_ms).await?;
        }
    }
    Ok(())
}

/// (I1) The same when the server's clock was set back, by whatever, while nobody extended.
// shows: hazard GI2
pub async fn new_owner_begins_above_time_reserved_before_a_clock_step(rig: &Rig) -> Result<()> {
    rig.acquire(1).await?;
    let reserved = rig.keep(1, 0, 10).await?.until_ms;
    let _released = rig.release(1, 0).await?;
    rig.time.set_back(HOUR / 2).await?;
    let begun = rig.acquire(2).await?;
    assert!(begun.worker == 0 && begun.from_ms >= reserved, "{begun:?} after {reserved}");
    Ok(())
}

/// (I1) A server that has forgotten all of the scope, or all since some time, has forgotten at most `ahead` beyond its own time: so much, and the
/// margin by which its clock may be behind, is left out by each new owner.
// shows: hazard GI4
pub async fn new_owner_begins_above_time_that_was_forgotten(rig: &Rig) -> Result<()> {
    let forgotten = rig.acquire(1).await?;
    let lost = rig.scopes.scope("a-scope-that-the-server-has-lost")?;
    rig.time.advance(SETTINGS.margin_ms + 500).await?;
    let reserved = rig.extend(1, 0).await?.until_ms;
    assert!(reserved > forgotten.from_ms);
    rig.time.set_back(SETTINGS.margin_ms).await?;
    let call = Acquire(rig.call(2));
    let begun = super::rig::granted(rig.scopes.run(&lost, &call).await?)?;
    assert!(begun.from_ms >= reserved, "{begun:?} after {reserved}");
    Ok(())
}

/// (I3) A clock that is set back neither stops the ids for as long nor takes reserved time away.
// shows: hazard GI1
pub async fn clock_set_back_does_not_stop_reservations(rig: &Rig) -> Result<()> {
    rig.acquire(1).await?;
    let before = rig.keep(1, 0, 10).await?;
    let own_ms = before.now_ms;
    rig.time.set_back(HOUR / 2).await?;
    let mut last = before;
    for seconds in 0..=5 {
        if seconds > 0 {
            rig.time.advance(1_000).await?;
        }
        let call = Call { own_ms: own_ms + seconds * 1_000, ..rig.call(1) };
        last = super::rig::granted(rig.scopes.run(&rig.scope, &Extend { call, worker: 0 }).await?)?;
        assert_eq!(last.until_ms, before.until_ms + seconds * 1_000);
    }
    assert_eq!(last.now_ms, own_ms + 5_000, "the scope's time goes on from where it was");
    Ok(())
}

/// Reserved time is not taken back.
pub async fn reserved_time_only_grows(rig: &Rig) -> Result<()> {
    let begun = rig.acquire(1).await?;
    let mut until = begun.until_ms;
    for ms in [0, 1, 0, 999, 1_000, 5_000, 0] {
        rig.time.advance(ms).await?;
        let reserved = rig.extend(1, 0).await?;
        assert!(reserved.until_ms >= until && reserved.from_ms == begun.from_ms, "{reserved:?}");
        until = reserved.until_ms;
    }
    Ok(())
}

/// A mistaken time would stay reserved: if the clocks are an hour apart, nothing is reserved. A lost lease is reported first, so that a process
/// that was paused for long leases another worker id.
// shows: hazard GI8
pub async fn clocks_an_hour_apart_reserve_nothing(rig: &Rig) -> Result<()> {
    let now = rig.time.now();
    for own_ms in [0, now - HOUR, now + HOUR, u64::MAX >> 16] {
        let call = Call { own_ms, ..rig.call(1) };
        let apart = Refused::ClocksApart { store_ms: now };
        assert_eq!(refused(rig.scopes.run(&rig.scope, &Acquire(call)).await?)?, apart);
    }
    for (number, own_ms) in [(1, now - HOUR + 1), (2, now + HOUR - 1)] {
        let call = Acquire(Call { own_ms, ..rig.call(number) });
        super::rig::granted(rig.scopes.run(&rig.scope, &call).await?)?;
    }
    rig.time.advance(1_000).await?;
    let before = rig.extend(1, 0).await?;
    let call = Call { own_ms: now - HOUR, ..rig.call(1) };
    let apart = Refused::ClocksApart { store_ms: now + 1_000 };
    assert_eq!(refused(rig.scopes.run(&rig.scope, &Extend { call, worker: 0 }).await?)?, apart);
    assert_eq!(rig.extend(1, 0).await?.until_ms, before.until_ms, "nothing was stored");
    rig.time.advance(SETTINGS.lease_ms).await?;
    assert_eq!(refused(rig.scopes.run(&rig.scope, &Extend { call, worker: 0 }).await?)?, Refused::Lost);
    Ok(())
}
