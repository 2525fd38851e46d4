//! Worker ids: who has which.

use super::rig::{Rig, SETTINGS, granted, owner, refused};
use anyhow::Result;
use evenkeel::id::Layout;
use evenkeel_protocol::id::settings::Settings;
use evenkeel_protocol::id::steps::{Acquire, Call, Extend, Refused, Release};

/// Owners at the same time have different worker ids, as many as the layout has; the next one waits for the first lease that ends.
// shows: hazard GI3
pub async fn worker_ids_are_distinct_and_bounded(rig: &Rig) -> Result<()> {
    for number in 0..4 {
        assert_eq!(rig.acquire(number).await?.worker, u16::from(number));
        rig.time.advance(1_000).await?;
    }
    assert_eq!(refused(rig.ask(5).await?)?, Refused::Taken { free_in_ms: SETTINGS.lease_ms - 4_000 });
    rig.time.advance(SETTINGS.lease_ms - 4_000).await?;
    assert_eq!(rig.acquire(5).await?.worker, 0, "the lease that ended first");
    Ok(())
}

/// The reply was lost: the caller asks again, and must not lease a second worker id.
pub async fn repeated_acquisition_returns_the_same_worker_id(rig: &Rig) -> Result<()> {
    let first = rig.acquire(1).await?;
    rig.time.advance(500).await?;
    let again = rig.acquire(1).await?;
    assert_eq!((again.worker, again.from_ms, again.until_ms), (first.worker, first.from_ms, first.until_ms));
    assert_eq!(rig.acquire(2).await?.worker, 1, "the next one");
    Ok(())
}

/// An owner that does not answer loses its worker id after the lease, not before.
// shows: hazard GI3
pub async fn lease_counts_from_its_last_extension(rig: &Rig) -> Result<()> {
    for number in 0..4 {
        rig.acquire(number).await?;
    }
    rig.time.advance(20_000).await?;
    for number in 1..4 {
        rig.extend(number, number.into()).await?;
    }
    assert_eq!(refused(rig.ask(9).await?)?, Refused::Taken { free_in_ms: SETTINGS.lease_ms - 20_000 });
    rig.time.advance(SETTINGS.lease_ms - 20_000).await?;
    assert_eq!(rig.acquire(9).await?.worker, 0);
    Ok(())
}

/// (I1) A superseded owner that extended would issue next to its successor.
// shows: hazard GI5
pub async fn extension_requires_the_owner(rig: &Rig) -> Result<()> {
    rig.acquire(1).await?;
    rig.time.advance(SETTINGS.lease_ms).await?;
    assert_eq!(rig.acquire(2).await?.worker, 0);
    assert_eq!(refused(rig.ask_more(1, 0).await?)?, Refused::Lost);
    assert_eq!(refused(rig.ask_more(2, 1).await?)?, Refused::Lost, "another worker id");
    rig.extend(2, 0).await?;
    Ok(())
}

/// (I1) A promoted replica has forgotten the successor of an owner, and has the owner with a lease that is over: that owner must not go on.
// shows: hazard GI5
pub async fn extension_requires_a_lease(rig: &Rig) -> Result<()> {
    rig.acquire(1).await?;
    rig.time.advance(SETTINGS.lease_ms - 1).await?;
    rig.extend(1, 0).await?;
    rig.time.advance(SETTINGS.lease_ms).await?;
    assert_eq!(refused(rig.ask_more(1, 0).await?)?, Refused::Lost);
    rig.acquire(1).await?;
    rig.extend(1, 0).await?;
    Ok(())
}

/// A worker id that was released is free at once, and its owner extends no more: such an extension may have been under way.
// shows: hazard GI6
pub async fn released_owner_never_extends(rig: &Rig) -> Result<()> {
    rig.acquire(1).await?;
    let reserved = rig.extend(1, 0).await?;
    assert_eq!(refused(rig.release(2, 0).await?)?, Refused::Lost, "not its owner");
    granted(rig.release(1, 0).await?)?;
    assert_eq!(refused(rig.ask_more(1, 0).await?)?, Refused::Lost);
    assert_eq!(refused(rig.release(1, 0).await?)?, Refused::Lost, "a repeat");
    let next = rig.acquire(2).await?;
    assert_eq!(next.worker, 0);
    assert!(next.from_ms >= reserved.until_ms, "{next:?} after {reserved:?}");
    assert_eq!(refused(rig.ask_more(1, 0).await?)?, Refused::Lost);
    Ok(())
}

/// Two programs with different settings must not disagree: with a shorter reserved time one would begin within a lost range of the other.
// shows: hazard GI7
pub async fn different_settings_are_rejected(rig: &Rig) -> Result<()> {
    rig.acquire(1).await?;
    let stored = SETTINGS.to_string();
    for other in [
        Settings { ahead_ms: 3_001, ..SETTINGS },
        Settings { margin_ms: 999, ..SETTINGS },
        Settings { lease_ms: 30_001, ..SETTINGS },
        Settings { layout: Layout::new(41, 2, 11), ..SETTINGS },
        Settings { layout: SETTINGS.layout.epoch_ms(0), ..SETTINGS },
    ] {
        let call = Call { settings: other, ..rig.call(2) };
        let differs = Refused::Differs { stored: stored.clone() };
        assert_eq!(refused(rig.scopes.run(&rig.scope, &Acquire(call)).await?)?, differs, "{other}");
        let call = Call { owner: owner(1), ..call };
        assert_eq!(refused(rig.scopes.run(&rig.scope, &Extend { call, worker: 0 }).await?)?, differs, "{other}");
        assert_eq!(refused(rig.scopes.run(&rig.scope, &Release { call, worker: 0 }).await?)?, differs, "{other}");
    }
    let call = Call { settings: Settings { ahead_ms: 50, ..SETTINGS }, ..rig.call(2) };
    assert!(rig.scopes.run(&rig.scope, &Acquire(call)).await.is_err(), "such a scope would stand still");
    rig.extend(1, 0).await?;
    Ok(())
}

/// Scopes are independent of each other.
pub async fn scopes_are_independent(rig: &Rig) -> Result<()> {
    rig.acquire(1).await?;
    let other = rig.scopes.scope("invoices")?;
    let call = Call { settings: Settings { ahead_ms: 5_000, ..SETTINGS }, ..rig.call(2) };
    assert_eq!(granted(rig.scopes.run(&other, &Acquire(call)).await?)?.worker, 0);
    assert_eq!(rig.acquire(3).await?.worker, 1);
    Ok(())
}
