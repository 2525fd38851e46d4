//! The fences of a read/write lock.

use super::rig::{Rig, owner, permits, reader, writer};
use crate::conformance::lock::LEASE_MS;
use anyhow::Result;
use evenkeel::lock::Fence;
use evenkeel_protocol::lock::pool::steps::{Inspect, PermitReply, PermitRequest, Raise};

/// Concurrent readers have one fence, and one signer name: none of them is rejected because of another in SQL.
// shows: K9
pub async fn readers_share_a_fence(rig: &Rig) -> Result<()> {
    let (fence, signer) = rig.enter(&reader(1)).await?;
    assert_eq!(signer, owner(1));
    rig.time.advance(1_000).await?;
    assert_eq!(rig.enter(&reader(2)).await?, (fence, owner(1)));
    rig.leave(1).await?;
    assert_eq!(rig.enter(&reader(3)).await?, (fence, owner(1)), "also after the first has left");
    Ok(())
}

/// A writer's fence exceeds those of all readers before it, and theirs exceed the earlier writer's.
// shows: K9
pub async fn writer_fence_exceeds_all_earlier_fences(rig: &Rig) -> Result<()> {
    let mut last = Fence(0);
    for number in 1..=3 {
        let (write, signer) = rig.enter(&writer(number)).await?;
        assert!(write > last && signer == owner(number), "{write} follows {last}");
        rig.leave(number).await?;
        let (read, signer) = rig.enter(&reader(number + 10)).await?;
        assert!(read > write && signer == owner(number + 10), "{read} follows {write}");
        rig.leave(number + 10).await?;
        last = read;
    }
    Ok(())
}

/// (L5) A fence that does not rise excludes no earlier holder.
// shows: K9
pub async fn shared_fences_rise_within_one_millisecond(rig: &Rig) -> Result<()> {
    let (first, _) = rig.enter(&writer(1)).await?;
    rig.leave(1).await?;
    let (second, _) = rig.enter(&writer(2)).await?;
    assert!(second > first, "{second} follows {first}");
    Ok(())
}

/// (L5) A counter begins at one again after a flush or a failover to an empty server, and a zombie passes.
// shows: K9
pub async fn shared_fence_is_at_least_the_server_time(rig: &Rig) -> Result<()> {
    let (fence, _) = rig.enter(&reader(1)).await?;
    assert!(fence.0 >= rig.time.now() * 1_000, "{fence}");
    Ok(())
}

/// (L5) The new server's clock is behind: the fence that SQL has seen is the floor, also for a reader that joins others.
// shows: K9
pub async fn shared_fence_exceeds_its_floor(rig: &Rig) -> Result<()> {
    let seen = (rig.time.now() + 3_600_000) * 1_000;
    let (fence, _) = rig.enter(&PermitRequest { fence_floor: seen, ..writer(1) }).await?;
    assert_eq!(fence, Fence(seen + 1));
    rig.leave(1).await?;
    assert_eq!(rig.enter(&reader(2)).await?.0, Fence(seen + 2), "the next one is above it without a floor");
    let (fence, signer) = rig.enter(&PermitRequest { fence_floor: seen + 100, ..reader(3) }).await?;
    assert_eq!((fence, signer), (Fence(seen + 101), owner(2)));
    Ok(())
}

/// SQL has seen a fence that Redis forgot. The first reader raises the shared fence above it; the others take that one: if each
/// raised it once more, the last would exclude all the others.
// shows: K9
pub async fn shared_fence_is_raised_once(rig: &Rig) -> Result<()> {
    let (fence, _) = rig.enter(&reader(1)).await?;
    rig.enter(&reader(2)).await?;
    let seen = Fence(fence.0 + 1_000);
    let lifted = Fence(seen.0 + 1);
    let raise = async |number, mine, seen| rig.pools.run(&rig.shelf, &Raise { owner: owner(number), mine, seen }).await;
    assert_eq!(raise(1, fence, seen).await?, Some(lifted));
    assert_eq!(raise(1, fence, seen).await?, Some(lifted), "a repeat");
    // By now the row in SQL has the first one's.
    assert_eq!(
        raise(2, fence, lifted).await?,
        Some(lifted),
        "another reader has raised the shared fence to the one in SQL"
    );
    assert_eq!(
        raise(2, lifted, lifted).await?,
        Some(Fence(lifted.0 + 1)),
        "another owner has stored the same fence in SQL"
    );
    assert_eq!(rig.enter(&reader(3)).await?.0, Fence(lifted.0 + 1));
    Ok(())
}

/// A zombie that raised the fence would exclude the current holder.
// shows: K9
pub async fn raise_of_a_shared_fence_requires_a_holder(rig: &Rig) -> Result<()> {
    let (old, _) = rig.enter(&reader(1)).await?;
    rig.time.advance(LEASE_MS).await?;
    let (fence, _) = rig.enter(&writer(2)).await?;
    let seen = Fence(fence.0 + 5);
    assert_eq!(rig.pools.run(&rig.shelf, &Raise { owner: owner(1), mine: old, seen }).await?, None);
    assert_eq!(rig.pools.run(&rig.shelf, &Inspect).await?.map(|state| state.fence), Some(fence));
    Ok(())
}

/// Concurrent holders of permits have no order.
pub async fn permits_have_no_fence(rig: &Rig) -> Result<()> {
    let granted = |number| PermitReply::Granted { lease_left_ms: LEASE_MS, fence: Fence(0), signer: owner(number) };
    assert_eq!(rig.pools.run(&rig.desks, &permits(1, 1)).await?, granted(1));
    assert_eq!(rig.pools.run(&rig.desks, &permits(2, 2)).await?, granted(2));
    Ok(())
}
