//! As many holders at once as there are permits.

use super::rig::{PERMITS, Rig, permits, reader};
use crate::conformance::lock::LEASE_MS;
use anyhow::Result;
use bytes::Bytes;
use evenkeel_protocol::lock::pool::steps::{Inspect, LEASE_MS_MAX, PERMITS_MAX, PermitReply, PermitRequest, Resize};
use evenkeel_protocol::lock::steps::{FENCE_MAX, METADATA_BYTES_MAX, Released};

/// The next one waits for the first lease that ends.
// shows: K7
pub async fn permits_never_exceed_their_number(rig: &Rig) -> Result<()> {
    for number in 1..=3 {
        assert_eq!(rig.sit(&permits(number, 1)).await?, LEASE_MS);
        rig.time.advance(1_000).await?;
    }
    assert_eq!(rig.full_for(&permits(4, 1)).await?, LEASE_MS - 3_000);
    rig.stand_up(2).await?;
    rig.sit(&permits(4, 1)).await?;
    assert_eq!(rig.full_for(&permits(5, 1)).await?, LEASE_MS - 3_000);
    Ok(())
}

/// All requested permits are granted together. Otherwise two callers, each with half of the permits, would wait for each other.
// shows: K7
pub async fn several_permits_are_granted_together(rig: &Rig) -> Result<()> {
    rig.sit(&permits(1, 2)).await?;
    assert_eq!(rig.full_for(&permits(2, 2)).await?, LEASE_MS);
    rig.sit(&permits(3, 1)).await?;
    rig.stand_up(1).await?;
    rig.sit(&permits(2, 2)).await?;
    Ok(())
}

/// (A list of tokens) A release pushed a permit back that its caller no longer had: there was one more than before.
// shows: K7
pub async fn release_returns_only_its_own_permits(rig: &Rig) -> Result<()> {
    rig.sit(&permits(1, 3)).await?;
    rig.time.advance(LEASE_MS).await?;
    rig.sit(&permits(2, 3)).await?;
    assert_eq!(rig.stand_up(1).await?, Released::Nothing);
    assert_eq!(rig.stand_up(7).await?, Released::Nothing);
    assert_eq!(rig.full_for(&permits(3, 1)).await?, LEASE_MS);
    assert_eq!(rig.stand_up(2).await?, Released::Released { others_waiting: 0 });
    assert_eq!(rig.stand_up(2).await?, Released::Nothing, "a repeat");
    Ok(())
}

/// Regression: two versions of a program used different numbers of permits, and each granted permits up to its own number.
// shows: K10, lock::Semaphore::resize
pub async fn different_number_of_permits_is_rejected(rig: &Rig) -> Result<()> {
    rig.sit(&permits(1, 1)).await?;
    let other = PermitRequest { permits_in_all: PERMITS + 1, ..permits(2, 1) };
    let differs = PermitReply::Differs { permits_in_all: PERMITS };
    assert_eq!(rig.pools.run(&rig.desks, &other).await?, differs);
    rig.stand_up(1).await?;
    assert_eq!(rig.pools.run(&rig.desks, &other).await?, differs, "also without a holder");
    Ok(())
}

/// The number changes by an explicit call, and then for all programs.
// shows: K10, lock::Semaphore::resize
pub async fn resize_changes_the_number_of_permits(rig: &Rig) -> Result<()> {
    rig.sit(&permits(1, 3)).await?;
    rig.pools.run(&rig.desks, &Resize(2)).await?;
    assert_eq!(rig.pools.run(&rig.desks, &permits(2, 1)).await?, PermitReply::Differs { permits_in_all: 2 });
    let smaller = PermitRequest { permits_in_all: 2, ..permits(2, 1) };
    assert_eq!(rig.full_for(&smaller).await?, LEASE_MS, "holders keep their permits");
    rig.stand_up(1).await?;
    rig.sit(&smaller).await?;
    rig.pools.run(&rig.desks, &Resize(4)).await?;
    rig.sit(&PermitRequest { permits_in_all: 4, ..permits(3, 3) }).await?;
    Ok(())
}

/// Invalid requests are rejected before anything is sent.
// shows: lock::RwBuilder::try_acquire, lock::PermitsBuilder::try_acquire, lock::Semaphore::acquire
// shows: lock::PermitsBuilder::acquire
pub async fn invalid_pool_arguments_are_rejected(rig: &Rig) -> Result<()> {
    let call = permits(1, 1);
    for wrong in [
        PermitRequest { permits: 0, ..call.clone() },
        PermitRequest { permits: PERMITS + 1, ..call.clone() },
        PermitRequest { permits_in_all: 0, ..call.clone() },
        PermitRequest { permits_in_all: PERMITS_MAX + 1, ..call.clone() },
        PermitRequest { lease_ms: 0, ..call.clone() },
        PermitRequest { lease_ms: LEASE_MS_MAX + 1, ..call.clone() },
        PermitRequest { fence_floor: FENCE_MAX, ..call.clone() },
        PermitRequest { metadata: Bytes::from(vec![b'x'; METADATA_BYTES_MAX + 1]), ..call.clone() },
    ] {
        assert!(rig.pools.run(&rig.desks, &wrong).await.is_err(), "{wrong:?}");
    }
    assert!(rig.pools.run(&rig.desks, &Resize(0)).await.is_err());
    assert_eq!(rig.pools.run(&rig.desks, &Inspect).await?, None);
    rig.enter(&reader(1)).await?;
    Ok(())
}
