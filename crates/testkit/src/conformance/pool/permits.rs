//! As many holders at once as there are permits.

use super::world::{PERMITS, World, permits, reader};
use crate::conformance::lock::LEASE_MS;
use anyhow::Result;
use bytes::Bytes;
use evenkeel_protocol::lock::pool::steps::{Ask, Asked, LEASE_MS_MAX, PERMITS_MAX, PoolSteps};
use evenkeel_protocol::lock::steps::{FENCE_MAX, Released, WORDS_BYTES_MAX};

/// The next one waits for the first lease that ends.
pub async fn permits_never_exceed_their_number<P: PoolSteps>(world: &World<P>) -> Result<()> {
    for number in 1..=3 {
        assert_eq!(world.sit(&permits(number, 1)).await?, LEASE_MS);
        world.time.advance(1_000).await?;
    }
    assert_eq!(world.full_for(&permits(4, 1)).await?, LEASE_MS - 3_000);
    world.stand_up(2).await?;
    world.sit(&permits(4, 1)).await?;
    assert_eq!(world.full_for(&permits(5, 1)).await?, LEASE_MS - 3_000);
    Ok(())
}

/// All that are wanted, or none: two halves in two hands would wait for each other.
pub async fn several_permits_are_granted_together<P: PoolSteps>(world: &World<P>) -> Result<()> {
    world.sit(&permits(1, 2)).await?;
    assert_eq!(world.full_for(&permits(2, 2)).await?, LEASE_MS);
    world.sit(&permits(3, 1)).await?;
    world.stand_up(1).await?;
    world.sit(&permits(2, 2)).await?;
    Ok(())
}

/// (A list of tokens) A release pushed a permit back that its caller no longer had: there was one more than before.
pub async fn release_returns_only_its_own_permits<P: PoolSteps>(world: &World<P>) -> Result<()> {
    world.sit(&permits(1, 3)).await?;
    world.time.advance(LEASE_MS).await?;
    world.sit(&permits(2, 3)).await?;
    assert_eq!(world.stand_up(1).await?, Released::Nothing);
    assert_eq!(world.stand_up(7).await?, Released::Nothing);
    assert_eq!(world.full_for(&permits(3, 1)).await?, LEASE_MS);
    assert_eq!(world.stand_up(2).await?, Released::Released { others_waiting: 0 });
    assert_eq!(world.stand_up(2).await?, Released::Nothing, "a repeat");
    Ok(())
}

/// Two versions of a program named different numbers: each let in as many as it thought there were.
pub async fn different_number_of_permits_is_rejected<P: PoolSteps>(world: &World<P>) -> Result<()> {
    world.sit(&permits(1, 1)).await?;
    let other = Ask { permits_in_all: PERMITS + 1, ..permits(2, 1) };
    let differs = Asked::Differs { permits_in_all: PERMITS };
    assert_eq!(world.pools.acquire(&world.desks, &other).await?, differs);
    world.stand_up(1).await?;
    assert_eq!(world.pools.acquire(&world.desks, &other).await?, differs, "also without a holder");
    Ok(())
}

/// The number changes by an explicit call, and then for all programs.
pub async fn resize_changes_the_number_of_permits<P: PoolSteps>(world: &World<P>) -> Result<()> {
    world.sit(&permits(1, 3)).await?;
    world.pools.resize(&world.desks, 2).await?;
    assert_eq!(world.pools.acquire(&world.desks, &permits(2, 1)).await?, Asked::Differs { permits_in_all: 2 });
    let smaller = Ask { permits_in_all: 2, ..permits(2, 1) };
    assert_eq!(world.full_for(&smaller).await?, LEASE_MS, "holders keep their permits");
    world.stand_up(1).await?;
    world.sit(&smaller).await?;
    world.pools.resize(&world.desks, 4).await?;
    world.sit(&Ask { permits_in_all: 4, ..permits(3, 3) }).await?;
    Ok(())
}

/// What cannot work is refused before anything is sent.
pub async fn invalid_pool_arguments_are_rejected<P: PoolSteps>(world: &World<P>) -> Result<()> {
    let call = permits(1, 1);
    for wrong in [
        Ask { permits: 0, ..call.clone() },
        Ask { permits: PERMITS + 1, ..call.clone() },
        Ask { permits_in_all: 0, ..call.clone() },
        Ask { permits_in_all: PERMITS_MAX + 1, ..call.clone() },
        Ask { lease_ms: 0, ..call.clone() },
        Ask { lease_ms: LEASE_MS_MAX + 1, ..call.clone() },
        Ask { fence_floor: FENCE_MAX, ..call.clone() },
        Ask { words: Bytes::from(vec![b'x'; WORDS_BYTES_MAX + 1]), ..call.clone() },
    ] {
        assert!(world.pools.acquire(&world.desks, &wrong).await.is_err(), "{wrong:?}");
    }
    assert!(world.pools.resize(&world.desks, 0).await.is_err());
    assert_eq!(world.pools.inspect(&world.desks).await?, None);
    world.enter(&reader(1)).await?;
    Ok(())
}
