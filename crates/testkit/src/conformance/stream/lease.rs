//! Who owns a partition, and what a former owner can still do.

use super::world::{LEASE_MS, World, consumer, delivery, done, ids, retry};
use anyhow::Result;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{Beat, Joined, Mode, Outcome, Reader, Reply, Settlement, StreamSteps, Verdict};

/// (T3) One at a time.
pub async fn partition_has_one_owner<S: StreamSteps>(world: &World<S>) -> Result<()> {
    world.open(Mode::Partition).await?;
    world.join(1).await?;
    assert_eq!(world.ask(2).await?, Joined::Taken { free_in_ms: LEASE_MS });
    world.time.advance(LEASE_MS - 1).await?;
    assert_eq!(world.ask(2).await?, Joined::Taken { free_in_ms: 1 });
    world.time.advance(1).await?;
    world.join(2).await?;
    Ok(())
}

/// The reply was lost: the caller asks again and must get its own lease.
pub async fn repeated_join_returns_the_same_fence<S: StreamSteps>(world: &World<S>) -> Result<()> {
    world.open(Mode::Partition).await?;
    let reader = world.join(1).await?;
    world.time.advance(500).await?;
    assert_eq!(world.ask(1).await?, Joined::Granted { reader, lease_left_ms: LEASE_MS - 500 });
    Ok(())
}

/// A fence that does not change excludes no former owner.
pub async fn partition_fences_rise_within_one_millisecond<S: StreamSteps>(world: &World<S>) -> Result<()> {
    world.open(Mode::Partition).await?;
    let mut last = 0;
    for number in 1..=5 {
        let reader = world.join(number).await?;
        assert!(reader.fence > last, "{} follows {last}", reader.fence);
        last = reader.fence;
        done(world.streams.leave(&world.partition, &world.group, reader).await?)?;
    }
    Ok(())
}

/// A counter begins at one again after a flush, and a zombie passes.
pub async fn partition_fence_is_at_least_the_server_time<S: StreamSteps>(world: &World<S>) -> Result<()> {
    world.open(Mode::Partition).await?;
    assert!(world.join(1).await?.fence >= world.time.now() * 1_000);
    Ok(())
}

/// SQL has seen a higher fence than the server's clock gives.
pub async fn partition_fence_exceeds_the_known_fence<S: StreamSteps>(world: &World<S>) -> Result<()> {
    world.open(Mode::Partition).await?;
    let seen = (world.time.now() + 3_600_000) * 1_000;
    let joined = world.streams.join(&world.partition, &world.group, consumer(1), LEASE_MS, seen).await?;
    assert!(matches!(done(joined)?, Joined::Granted { reader: Reader { fence, .. }, .. } if fence == seen + 1));
    Ok(())
}

/// A clock set back by an hour would keep a dead owner's partition for an hour.
pub async fn clock_set_back_does_not_extend_a_partition_lease<S: StreamSteps>(world: &World<S>) -> Result<()> {
    world.open(Mode::Partition).await?;
    world.join(1).await?;
    world.time.set_back(3_600_000).await?;
    assert_eq!(world.ask(2).await?, Joined::Taken { free_in_ms: LEASE_MS });
    world.time.advance(LEASE_MS).await?;
    world.join(2).await?;
    Ok(())
}

/// A short heartbeat that arrives late must not end a longer lease.
pub async fn heartbeat_never_shortens_a_partition_lease<S: StreamSteps>(world: &World<S>) -> Result<()> {
    world.open(Mode::Partition).await?;
    let reader = world.join(1).await?;
    done(world.streams.beat(&world.partition, &world.group, reader, 1, &[]).await?)?;
    assert_eq!(world.ask(2).await?, Joined::Taken { free_in_ms: LEASE_MS });
    world.time.advance(10_000).await?;
    done(world.streams.beat(&world.partition, &world.group, reader, LEASE_MS, &[]).await?)?;
    assert_eq!(world.ask(2).await?, Joined::Taken { free_in_ms: LEASE_MS });
    Ok(())
}

/// (S1, T2) A stopped owner wakes up after its partition has a new one.
pub async fn former_owner_changes_nothing<S: StreamSteps>(world: &World<S>) -> Result<()> {
    world.open(Mode::Partition).await?;
    world.append(&["a", "b"]).await?;
    let (former, _) = world.own(1).await?;
    let read = world.read(former, 1).await?;
    world.time.advance(LEASE_MS).await?;
    let (owner, taken) = world.own(2).await?;
    assert_eq!(ids(&taken), ids(&read));
    let (streams, partition, group) = (&world.streams, &world.partition, &world.group);
    let settlement = Settlement { delivery: delivery(&read[0]), outcome: Outcome::Done };
    let beat = Beat { delivery: delivery(&read[0]), alone: true };
    assert_eq!(streams.read(partition, group, former, 1, LEASE_MS).await?, Reply::Stale);
    assert_eq!(streams.settle(partition, group, former, &[settlement]).await?, Reply::Stale);
    assert_eq!(streams.beat(partition, group, former, LEASE_MS, &[beat]).await?, Reply::Stale);
    assert_eq!(streams.take_over(partition, group, former, EntryId::MIN, 10).await?, Reply::Stale);
    assert_eq!(streams.discard(partition, group, Some(former), &[]).await?, Reply::Stale);
    assert_eq!(streams.leave(partition, group, former).await?, Reply::Stale);
    assert_eq!(world.settle(owner, delivery(&taken[0]), Outcome::Done).await?, Verdict::Settled);
    Ok(())
}

/// A consumer that leases entries would overtake the owner of the partition.
pub async fn modes_do_not_mix<S: StreamSteps>(world: &World<S>) -> Result<()> {
    world.open(Mode::Partition).await?;
    world.append(&["a"]).await?;
    let (owner, _) = world.own(1).await?;
    let single = Reader { consumer: consumer(2), fence: 0, ..owner };
    let read = world.streams.read(&world.partition, &world.group, single, 1, LEASE_MS).await?;
    assert_eq!(read, Reply::OtherMode);
    Ok(())
}

/// (T3) New entries before the pending ones of the former owner would overtake them.
pub async fn owner_takes_over_before_it_reads<S: StreamSteps>(world: &World<S>) -> Result<()> {
    world.open(Mode::Partition).await?;
    let appended = world.append(&["a", "a", "a"]).await?;
    let (former, _) = world.own(1).await?;
    let read = world.read(former, 2).await?;
    assert_eq!(world.settle(former, delivery(&read[0]), retry(50_000)).await?, Verdict::Settled);
    world.time.advance(LEASE_MS).await?;
    let owner = world.join(2).await?;
    let reply = world.streams.read(&world.partition, &world.group, owner, 1, LEASE_MS).await?;
    assert_eq!(reply, Reply::TakeOverFirst);
    let first = world.streams.take_over(&world.partition, &world.group, owner, EntryId::MIN, 1).await?;
    let first = done(first)?;
    assert_eq!((ids(&first.entries), first.next), (appended[..1].to_vec(), Some(appended[0])));
    assert_eq!(first.entries[0].due, Some(world.time.now() + 20_000), "it is still delayed");
    let reply = world.streams.read(&world.partition, &world.group, owner, 1, LEASE_MS).await?;
    assert_eq!(reply, Reply::TakeOverFirst);
    let second = world.take_over(owner, appended[0]).await?;
    assert_eq!((ids(&second.entries), second.next), (appended[1..2].to_vec(), None));
    assert_eq!(ids(&world.read(owner, 10).await?), appended[2..]);
    Ok(())
}

/// The reply was lost: the same page again, without another delivery.
pub async fn repeated_take_over_returns_the_same_deliveries<S: StreamSteps>(world: &World<S>) -> Result<()> {
    world.open(Mode::Partition).await?;
    world.append(&["a", "b"]).await?;
    let (former, _) = world.own(1).await?;
    assert_eq!(world.read(former, 2).await?.len(), 2);
    world.time.advance(LEASE_MS).await?;
    let (owner, taken) = world.own(2).await?;
    assert!(taken.iter().all(|taken| taken.count == 2), "{taken:?}");
    assert_eq!(world.take_over(owner, EntryId::MIN).await?.entries, taken);
    Ok(())
}

/// Consumers share the partitions among those that are alive.
pub async fn consumers_that_are_silent_no_longer_attend<S: StreamSteps>(world: &World<S>) -> Result<()> {
    world.open(Mode::Partition).await?;
    let attend = async |number: u8, lease_ms: u64| {
        done(world.streams.attend(&world.partition, &world.group, consumer(number), lease_ms).await?)
    };
    assert_eq!(attend(2, 1_000).await?, [consumer(2)]);
    assert_eq!(attend(1, 3_000).await?, [consumer(1), consumer(2)]);
    world.time.advance(999).await?;
    assert_eq!(attend(2, 1_000).await?, [consumer(1), consumer(2)]);
    world.time.advance(1_000).await?;
    assert_eq!(attend(3, 1_000).await?, [consumer(1), consumer(3)]);
    assert_eq!(attend(1, 0).await?, [consumer(3)], "it leaves");
    Ok(())
}
