//! Renewal checks the owner and never creates.

use super::world::{LEASE_MS, Party, World};
use anyhow::Result;
use evenkeel_protocol::lock::steps::{Acquire, LockSteps, Renewed};

/// A lease counts from its last renewal.
pub async fn renewed_lease_counts_from_the_renewal<L: LockSteps>(world: &World<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    world.take(ann).await?;
    for _ in 0..3 {
        world.time.advance(LEASE_MS - 1).await?;
        assert_eq!(world.renew(ann).await?, Renewed::Renewed { lease_left_ms: LEASE_MS });
    }
    assert_eq!(world.taken_for(&bob.call()).await?, LEASE_MS);
    Ok(())
}

/// (L2) A renewal without a check of the owner extended another holder's lock.
pub async fn renewal_requires_the_owner<L: LockSteps>(world: &World<L>) -> Result<()> {
    let (ann, bob) = (Party::new(1), Party::new(2));
    world.take(ann).await?;
    world.time.advance(LEASE_MS).await?;
    world.take(bob).await?;
    world.time.advance(10_000).await?;
    assert_eq!(world.renew(ann).await?, Renewed::Lost);
    assert_eq!(world.taken_for(&ann.call()).await?, LEASE_MS - 10_000, "and it is no longer for that");
    Ok(())
}

/// (L2) A lease kept in a set came back to life when its dead holder renewed it.
pub async fn renewal_never_creates_a_lock<L: LockSteps>(world: &World<L>) -> Result<()> {
    let ann = Party::new(1);
    assert_eq!(world.renew(ann).await?, Renewed::Lost);
    world.take(ann).await?;
    world.give_back(ann).await?;
    assert_eq!(world.renew(ann).await?, Renewed::Lost);
    assert_eq!(world.owner().await?, None);
    Ok(())
}

/// While a lock cools its former owner has lost it.
pub async fn renewal_during_the_lock_delay_is_rejected<L: LockSteps>(world: &World<L>) -> Result<()> {
    let ann = Party::new(1);
    world.take_with(&Acquire { cooling_ms: 5_000, ..ann.call() }).await?;
    world.time.advance(LEASE_MS).await?;
    assert_eq!(world.renew(ann).await?, Renewed::Lost);
    world.time.advance(5_000).await?;
    world.take(Party::new(2)).await?;
    Ok(())
}

/// (L7) A leaked guard was renewed forever.
pub async fn renewals_end_at_max_hold<L: LockSteps>(world: &World<L>) -> Result<()> {
    let ann = Party::new(1);
    world.take_with(&Acquire { hold_ms_max: Some(50_000), ..ann.call() }).await?;
    world.time.advance(15_000).await?;
    assert_eq!(world.renew(ann).await?, Renewed::Renewed { lease_left_ms: LEASE_MS });
    world.time.advance(15_000).await?;
    assert_eq!(world.renew(ann).await?, Renewed::Renewed { lease_left_ms: 20_000 });
    world.time.advance(10_000).await?;
    assert_eq!(world.renew(ann).await?, Renewed::Held { lease_left_ms: 10_000 });
    world.time.advance(10_000).await?;
    assert_eq!(world.renew(ann).await?, Renewed::Lost);
    world.take(Party::new(2)).await?;
    Ok(())
}

/// A limit below the ttl bounds the first lease, too.
pub async fn max_hold_below_the_ttl_bounds_the_lease<L: LockSteps>(world: &World<L>) -> Result<()> {
    let ann = Party::new(1);
    world.take_with(&Acquire { hold_ms_max: Some(5_000), ..ann.call() }).await?;
    assert_eq!(world.taken_for(&Party::new(2).call()).await?, 5_000);
    assert_eq!(world.renew(ann).await?, Renewed::Held { lease_left_ms: 5_000 });
    Ok(())
}
