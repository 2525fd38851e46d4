//! Who owns a partition, and what a former owner can still do.

use super::rig::{LEASE_MS, Rig, consumer, delivery, done, ids, retry};
use anyhow::Result;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{
    Attend, Discard, Heartbeat, Join, Joined, Leave, Mode, Outcome, Read, Reader, Reply, Running, Settle, Settlement,
    TakeOver, Verdict,
};

/// (T3) One at a time.
// shows: T3
pub async fn partition_has_one_owner(rig: &Rig) -> Result<()> {
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
pub async fn repeated_join_returns_the_same_fence(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let reader = rig.join(1).await?;
    rig.time.advance(500).await?;
    assert_eq!(rig.ask(1).await?, Joined::Granted { reader, lease_left_ms: LEASE_MS - 500 });
    Ok(())
}

/// A fence that does not change excludes no former owner.
pub async fn partition_fences_rise_within_one_millisecond(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let mut last = 0;
    for number in 1..=5 {
        let reader = rig.join(number).await?;
        assert!(reader.fence > last, "{} follows {last}", reader.fence);
        last = reader.fence;
        done(rig.run(&Leave { group: rig.group.clone(), reader }).await?)?;
    }
    Ok(())
}

/// A counter begins at one again after a flush, and a zombie passes.
pub async fn partition_fence_is_at_least_the_server_time(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    assert!(rig.join(1).await?.fence >= rig.time.now() * 1_000);
    Ok(())
}

/// SQL has seen a higher fence than the server's clock gives.
pub async fn partition_fence_exceeds_the_known_fence(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let seen = (rig.time.now() + 3_600_000) * 1_000;
    let joined = rig
        .run(&Join { group: rig.group.clone(), consumer: consumer(1), lease_ms: LEASE_MS, fence_floor: seen })
        .await?;
    assert!(matches!(done(joined)?, Joined::Granted { reader: Reader { fence, .. }, .. } if fence == seen + 1));
    Ok(())
}

/// A clock set back by an hour would keep a dead owner's partition for an hour.
// shows: T8
pub async fn clock_set_back_does_not_extend_a_partition_lease(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    rig.join(1).await?;
    rig.time.set_back(3_600_000).await?;
    assert_eq!(rig.ask(2).await?, Joined::Taken { free_in_ms: LEASE_MS });
    rig.time.advance(LEASE_MS).await?;
    rig.join(2).await?;
    Ok(())
}

/// A short heartbeat that arrives late must not end a longer lease.
pub async fn heartbeat_never_shortens_a_partition_lease(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let reader = rig.join(1).await?;
    done(rig.run(&Heartbeat { group: rig.group.clone(), reader, lease_ms: 1, deliveries: Vec::new() }).await?)?;
    assert_eq!(rig.ask(2).await?, Joined::Taken { free_in_ms: LEASE_MS });
    rig.time.advance(10_000).await?;
    done(rig.run(&Heartbeat { group: rig.group.clone(), reader, lease_ms: LEASE_MS, deliveries: Vec::new() }).await?)?;
    assert_eq!(rig.ask(2).await?, Joined::Taken { free_in_ms: LEASE_MS });
    Ok(())
}

/// (S1, T2) A stopped owner wakes up after its partition has a new one.
// shows: T2
pub async fn former_owner_changes_nothing(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    rig.append(&["a", "b"]).await?;
    let (former, _) = rig.own(1).await?;
    let read = rig.read(former, 1).await?;
    rig.time.advance(LEASE_MS).await?;
    let (owner, taken) = rig.own(2).await?;
    assert_eq!(ids(&taken), ids(&read));
    let group = || rig.group.clone();
    let settlement = Settlement { delivery: delivery(&read[0]), outcome: Outcome::Done };
    let running = Running { delivery: delivery(&read[0]), alone: true };
    assert_eq!(rig.run(&Read { group: group(), reader: former, limit: 1, lease_ms: LEASE_MS }).await?, Reply::Stale);
    assert_eq!(rig.run(&Settle { group: group(), reader: former, settlements: vec![settlement] }).await?, Reply::Stale);
    assert_eq!(
        rig.run(&Heartbeat { group: group(), reader: former, lease_ms: LEASE_MS, deliveries: vec![running] }).await?,
        Reply::Stale
    );
    assert_eq!(
        rig.run(&TakeOver { group: group(), reader: former, after: EntryId::MIN, limit: 10 }).await?,
        Reply::Stale
    );
    assert_eq!(rig.run(&Discard { group: group(), reader: Some(former), letters: Vec::new() }).await?, Reply::Stale);
    assert_eq!(rig.run(&Leave { group: group(), reader: former }).await?, Reply::Stale);
    assert_eq!(rig.settle(owner, delivery(&taken[0]), Outcome::Done).await?, Verdict::Settled);
    Ok(())
}

/// A consumer that leases entries would overtake the owner of the partition.
// shows: T3
pub async fn modes_do_not_mix(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    rig.append(&["a"]).await?;
    let (owner, _) = rig.own(1).await?;
    let single = Reader { consumer: consumer(2), fence: 0, ..owner };
    let read = rig.run(&Read { group: rig.group.clone(), reader: single, limit: 1, lease_ms: LEASE_MS }).await?;
    assert_eq!(read, Reply::OtherMode);
    Ok(())
}

/// (T3) New entries before the pending ones of the former owner would overtake them.
// shows: T3, T8, hazard X12
pub async fn owner_takes_over_before_it_reads(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let appended = rig.append(&["a", "a", "a"]).await?;
    let (former, _) = rig.own(1).await?;
    let read = rig.read(former, 2).await?;
    assert_eq!(rig.settle(former, delivery(&read[0]), retry(50_000)).await?, Verdict::Settled);
    rig.time.advance(LEASE_MS).await?;
    let owner = rig.join(2).await?;
    let reply = rig.run(&Read { group: rig.group.clone(), reader: owner, limit: 1, lease_ms: LEASE_MS }).await?;
    assert_eq!(reply, Reply::TakeOverFirst);
    let first = rig.run(&TakeOver { group: rig.group.clone(), reader: owner, after: EntryId::MIN, limit: 1 }).await?;
    let first = done(first)?;
    assert_eq!((ids(&first.entries), first.next), (appended[..1].to_vec(), Some(appended[0])));
    assert_eq!(first.entries[0].due, Some(rig.time.now() + 20_000), "it is still delayed");
    let reply = rig.run(&Read { group: rig.group.clone(), reader: owner, limit: 1, lease_ms: LEASE_MS }).await?;
    assert_eq!(reply, Reply::TakeOverFirst);
    let second = rig.take_over(owner, appended[0]).await?;
    assert_eq!((ids(&second.entries), second.next), (appended[1..2].to_vec(), None));
    assert_eq!(ids(&rig.read(owner, 10).await?), appended[2..]);
    Ok(())
}

/// The reply was lost: the same page again, without another delivery.
// shows: T3, hazard X17
pub async fn repeated_take_over_returns_the_same_deliveries(rig: &Rig) -> Result<()> {
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
pub async fn consumers_that_are_silent_no_longer_attend(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let attend = async |number: u8, lease_ms: u64| {
        done(rig.run(&Attend { group: rig.group.clone(), consumer: consumer(number), lease_ms }).await?)
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
