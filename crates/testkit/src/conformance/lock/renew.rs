//! Renewal checks the owner and never creates.

use super::rig::{LEASE_MS, Party, Rig};
use anyhow::Result;
use evenkeel_protocol::lock::steps::{Acquire, LockSteps, Renewed};

/// A lease counts from its last renewal.
pub async fn renewed_lease_counts_from_the_renewal<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    rig.take(ann).await?;
    for _ in 0..3 {
        rig.time.advance(LEASE_MS - 1).await?;
        assert_eq!(rig.renew(ann).await?, Renewed::Renewed { lease_left_ms: LEASE_MS });
    }
    assert_eq!(rig.taken_for(&bob.call()).await?, LEASE_MS);
    Ok(())
}

/// (L2) A renewal without a check of the owner extended another holder's lock.
// shows: K4, KR1, hazard L2
pub async fn renewal_requires_the_owner<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    rig.take(ann).await?;
    rig.time.advance(LEASE_MS).await?;
    rig.take(bob).await?;
    rig.time.advance(10_000).await?;
    assert_eq!(rig.renew(ann).await?, Renewed::Lost);
    assert_eq!(rig.taken_for(&ann.call()).await?, LEASE_MS - 10_000, "and it is no longer for that");
    Ok(())
}

/// (L2) A lease kept in a set came back to life when its dead holder renewed it.
// shows: K4, hazard L1
pub async fn renewal_never_creates_a_lock<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let ann = Party::new(1);
    assert_eq!(rig.renew(ann).await?, Renewed::Lost);
    rig.take(ann).await?;
    rig.give_back(ann).await?;
    assert_eq!(rig.renew(ann).await?, Renewed::Lost);
    assert_eq!(rig.owner().await?, None);
    Ok(())
}

/// While a lock cools its former owner has lost it.
// shows: K4, KR1, hazard L12, spec/lock.md
pub async fn renewal_during_the_lock_delay_is_rejected<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let ann = Party::new(1);
    rig.take_with(&Acquire { cooling_ms: 5_000, ..ann.call() }).await?;
    rig.time.advance(LEASE_MS).await?;
    assert_eq!(rig.renew(ann).await?, Renewed::Lost);
    rig.time.advance(5_000).await?;
    rig.take(Party::new(2)).await?;
    Ok(())
}

/// (L7) A leaked guard was renewed forever.
// shows: K4
pub async fn renewals_end_at_max_hold<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let ann = Party::new(1);
    rig.take_with(&Acquire { hold_ms_max: Some(50_000), ..ann.call() }).await?;
    rig.time.advance(15_000).await?;
    assert_eq!(rig.renew(ann).await?, Renewed::Renewed { lease_left_ms: LEASE_MS });
    rig.time.advance(15_000).await?;
    assert_eq!(rig.renew(ann).await?, Renewed::Renewed { lease_left_ms: 20_000 });
    rig.time.advance(10_000).await?;
    assert_eq!(rig.renew(ann).await?, Renewed::Held { lease_left_ms: 10_000 });
    rig.time.advance(10_000).await?;
    assert_eq!(rig.renew(ann).await?, Renewed::Lost);
    rig.take(Party::new(2)).await?;
    Ok(())
}

/// A limit below the ttl bounds the first lease, too.
pub async fn max_hold_below_the_ttl_bounds_the_lease<L: LockSteps>(rig: &Rig<L>) -> Result<()> {
    let ann = Party::new(1);
    rig.take_with(&Acquire { hold_ms_max: Some(5_000), ..ann.call() }).await?;
    assert_eq!(rig.taken_for(&Party::new(2).call()).await?, 5_000);
    assert_eq!(rig.renew(ann).await?, Renewed::Held { lease_left_ms: 5_000 });
    Ok(())
}
