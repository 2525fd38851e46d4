//! Who owns a partition, and what a former owner can still do.

use super::rig::{LEASE_MS, Rig, consumer, delivery, done, ids, retry};
use anyhow::Result;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{
    Heartbeat, Joined, Mode, Outcome, Reader, Reply, Settlement, StreamSteps, Verdict,
};

/// (T3) One at a time.
pub async fn partition_has_one_owner<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.open(Mode::Partition).await?;
    rig.join(1).await?;
    assert_eq!(rig.ask(2).await?, Joined::Taken { free_in_ms: LEASE_MS });
    rig.time.advance(LEASE_MS - 1).await?;
    assert_eq!(rig.ask(2).await?, Joined::Taken { free_in_ms: 1 });
    rig.time.advance(1).await?;
    rig.join(2).await?;
    Ok(())
}

/// The reply was lost: the caller asks again and must get its own lease.
pub async fn repeated_join_returns_the_same_fence<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let reader = rig.join(1).await?;
    rig.time.advance(500).await?;
    assert_eq!(rig.ask(1).await?, Joined::Granted { reader, lease_left_ms: LEASE_MS - 500 });
    Ok(())
}

/// A fence that does not change excludes no former owner.
pub async fn partition_fences_rise_within_one_millisecond<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let mut last = 0;
    for number in 1..=5 {
        let reader = rig.join(number).await?;
        assert!(reader.fence > last, "{} follows {last}", reader.fence);
        last = reader.fence;
        done(rig.streams.leave(&rig.partition, &rig.group, reader).await?)?;
    }
    Ok(())
}

/// A counter begins at one again after a flush, and a zombie passes.
pub async fn partition_fence_is_at_least_the_server_time<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.open(Mode::Partition).await?;
    assert!(rig.join(1).await?.fence >= rig.time.now() * 1_000);
    Ok(())
}

/// SQL has seen a higher fence than the server's clock gives.
pub async fn partition_fence_exceeds_the_known_fence<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let seen = (rig.time.now() + 3_600_000) * 1_000;
    let joined = rig.streams.join(&rig.partition, &rig.group, consumer(1), LEASE_MS, seen).await?;
    assert!(matches!(done(joined)?, Joined::Granted { reader: Reader { fence, .. }, .. } if fence == seen + 1));
    Ok(())
}

/// A clock set back by an hour would keep a dead owner's partition for an hour.
pub async fn clock_set_back_does_not_extend_a_partition_lease<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.open(Mode::Partition).await?;
    rig.join(1).await?;
    rig.time.set_back(3_600_000).await?;
    assert_eq!(rig.ask(2).await?, Joined::Taken { free_in_ms: LEASE_MS });
    rig.time.advance(LEASE_MS).await?;
    rig.join(2).await?;
    Ok(())
}

/// A short heartbeat that arrives late must not end a longer lease.
pub async fn heartbeat_never_shortens_a_partition_lease<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let reader = rig.join(1).await?;
    done(rig.streams.heartbeat(&rig.partition, &rig.group, reader, 1, &[]).await?)?;
    assert_eq!(rig.ask(2).await?, Joined::Taken { free_in_ms: LEASE_MS });
    rig.time.advance(10_000).await?;
    done(rig.streams.heartbeat(&rig.partition, &rig.group, reader, LEASE_MS, &[]).await?)?;
    assert_eq!(rig.ask(2).await?, Joined::Taken { free_in_ms: LEASE_MS });
    Ok(())
}

/// (S1, T2) A stopped owner wakes up after its partition has a new one.
pub async fn former_owner_changes_nothing<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.open(Mode::Partition).await?;
    rig.append(&["a", "b"]).await?;
    let (former, _) = rig.own(1).await?;
    let read = rig.read(former, 1).await?;
    rig.time.advance(LEASE_MS).await?;
    let (owner, taken) = rig.own(2).await?;
    assert_eq!(ids(&taken), ids(&read));
    let (streams, partition, group) = (&rig.streams, &rig.partition, &rig.group);
    let settlement = Settlement { delivery: delivery(&read[0]), outcome: Outcome::Done };
    let heartbeat = Heartbeat { delivery: delivery(&read[0]), alone: true };
    assert_eq!(streams.read(partition, group, former, 1, LEASE_MS).await?, Reply::Stale);
    assert_eq!(streams.settle(partition, group, former, &[settlement]).await?, Reply::Stale);
    assert_eq!(streams.heartbeat(partition, group, former, LEASE_MS, &[heartbeat]).await?, Reply::Stale);
    assert_eq!(streams.take_over(partition, group, former, EntryId::MIN, 10).await?, Reply::Stale);
    assert_eq!(streams.discard(partition, group, Some(former), &[]).await?, Reply::Stale);
    assert_eq!(streams.leave(partition, group, former).await?, Reply::Stale);
    assert_eq!(rig.settle(owner, delivery(&taken[0]), Outcome::Done).await?, Verdict::Settled);
    Ok(())
}

/// A consumer that leases entries would overtake the owner of the partition.
pub async fn modes_do_not_mix<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.open(Mode::Partition).await?;
    rig.append(&["a"]).await?;
    let (owner, _) = rig.own(1).await?;
    let single = Reader { consumer: consumer(2), fence: 0, ..owner };
    let read = rig.streams.read(&rig.partition, &rig.group, single, 1, LEASE_MS).await?;
    assert_eq!(read, Reply::OtherMode);
    Ok(())
}

/// (T3) New entries before the pending ones of the former owner would overtake them.
pub async fn owner_takes_over_before_it_reads<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let appended = rig.append(&["a", "a", "a"]).await?;
    let (former, _) = rig.own(1).await?;
    let read = rig.read(former, 2).await?;
    assert_eq!(rig.settle(former, delivery(&read[0]), retry(50_000)).await?, Verdict::Settled);
    rig.time.advance(LEASE_MS).await?;
    let owner = rig.join(2).await?;
    let reply = rig.streams.read(&rig.partition, &rig.group, owner, 1, LEASE_MS).await?;
    assert_eq!(reply, Reply::TakeOverFirst);
    let first = rig.streams.take_over(&rig.partition, &rig.group, owner, EntryId::MIN, 1).await?;
    let first = done(first)?;
    assert_eq!((ids(&first.entries), first.next), (appended[..1].to_vec(), Some(appended[0])));
    assert_eq!(first.entries[0].due, Some(rig.time.now() + 20_000), "it is still delayed");
    let reply = rig.streams.read(&rig.partition, &rig.group, owner, 1, LEASE_MS).await?;
    assert_eq!(reply, Reply::TakeOverFirst);
    let second = rig.take_over(owner, appended[0]).await?;
    assert_eq!((ids(&second.entries), second.next), (appended[1..2].to_vec(), None));
    assert_eq!(ids(&rig.read(owner, 10).await?), appended[2..]);
    Ok(())
}

/// The reply was lost: the same page again, without another delivery.
pub async fn repeated_take_over_returns_the_same_deliveries<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.open(Mode::Partition).await?;
    rig.append(&["a", "b"]).await?;
    let (former, _) = rig.own(1).await?;
    assert_eq!(rig.read(former, 2).await?.len(), 2);
    rig.time.advance(LEASE_MS).await?;
    let (owner, taken) = rig.own(2).await?;
    assert!(taken.iter().all(|taken| taken.count == 2), "{taken:?}");
    assert_eq!(rig.take_over(owner, EntryId::MIN).await?.entries, taken);
    Ok(())
}

/// Consumers share the partitions among those that are alive.
pub async fn consumers_that_are_silent_no_longer_attend<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let attend = async |number: u8, lease_ms: u64| {
        done(rig.streams.attend(&rig.partition, &rig.group, consumer(number), lease_ms).await?)
    };
    assert_eq!(attend(2, 1_000).await?, [consumer(2)]);
    assert_eq!(attend(1, 3_000).await?, [consumer(1), consumer(2)]);
    rig.time.advance(999).await?;
    assert_eq!(attend(2, 1_000).await?, [consumer(1), consumer(2)]);
    rig.time.advance(1_000).await?;
    assert_eq!(attend(3, 1_000).await?, [consumer(1), consumer(3)]);
    assert_eq!(attend(1, 0).await?, [consumer(3)], "it leaves");
    Ok(())
}
