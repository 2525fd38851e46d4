//! Which consumer gets an entry, when, and again.

use super::rig::{LEASE_MS, Rig, appending, delivery, done, entry, ids, retry};
use anyhow::Result;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{Mode, Outcome, Pause, RECORD_BYTES_MAX, ReadLog, Verdict};

/// Each entry once, in the order of the log.
pub async fn entry_is_delivered_to_one_consumer(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let appended = rig.append(&["a", "b", "c"]).await?;
    let (ann, bob) = (rig.join(1).await?, rig.join(2).await?);
    assert_eq!(ids(&rig.read(ann, 2).await?), appended[..2]);
    let read = rig.look(bob, 10).await?;
    assert_eq!((ids(&read.entries), read.tail), (appended[2..].to_vec(), appended[2]));
    assert_eq!(rig.read(ann, 10).await?, []);
    Ok(())
}

/// (S3) To Redis a count of zero means no limit: a full consumer would lease the whole stream.
// shows: hazard X3
pub async fn read_without_a_free_slot_is_rejected(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a", "b"]).await?;
    let reader = rig.join(1).await?;
    assert!(rig.look(reader, 0).await.is_err());
    assert_eq!(rig.stats().await?.pending, 0);
    assert!(rig.run(&ReadLog { after: EntryId::MIN, limit: 0 }).await.is_err());
    Ok(())
}

/// (T8) The entries of a dead consumer are delivered again once their leases have expired, and not before.
// shows: T8
pub async fn expired_entry_is_delivered_again(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let appended = rig.append(&["a"]).await?;
    let (ann, bob) = (rig.join(1).await?, rig.join(2).await?);
    rig.read(ann, 1).await?;
    rig.time.advance(LEASE_MS - 1).await?;
    let read = rig.look(bob, 1).await?;
    assert_eq!((read.entries.len(), read.next_in_ms), (0, Some(1)));
    rig.time.advance(1).await?;
    let again = rig.read(bob, 1).await?;
    assert_eq!((ids(&again), again[0].count), (appended, 2));
    Ok(())
}

/// A server clock that was set back would keep the entries of a dead consumer for as long.
pub async fn clock_set_back_does_not_extend_an_entry_lease(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let (ann, bob) = (rig.join(1).await?, rig.join(2).await?);
    rig.read(ann, 1).await?;
    rig.time.set_back(3_600_000).await?;
    assert_eq!(rig.read(bob, 1).await?.len(), 0);
    rig.time.advance(LEASE_MS).await?;
    assert_eq!(rig.read(bob, 1).await?.len(), 1);
    Ok(())
}

/// (S2) A handler that runs longer than the lease keeps its entry.
pub async fn heartbeat_keeps_the_entry(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let (ann, bob) = (rig.join(1).await?, rig.join(2).await?);
    let read = rig.read(ann, 1).await?;
    rig.time.advance(LEASE_MS - 1).await?;
    assert!(rig.heartbeat(ann, delivery(&read[0]), false).await?);
    rig.time.advance(LEASE_MS - 1).await?;
    assert_eq!(rig.read(bob, 1).await?, []);
    assert_eq!(rig.settle(ann, delivery(&read[0]), Outcome::Done).await?, Verdict::Settled);
    assert!(!rig.heartbeat(ann, delivery(&read[0]), false).await?, "it is settled");
    Ok(())
}

/// (S1) A bare keep-alive takes the entry back from the consumer that has it by now.
// shows: T2, hazard X1
pub async fn heartbeat_of_a_former_delivery_is_rejected(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let (ann, bob) = (rig.join(1).await?, rig.join(2).await?);
    let read = rig.read(ann, 1).await?;
    rig.time.advance(LEASE_MS).await?;
    let again = rig.read(bob, 1).await?;
    assert!(!rig.heartbeat(ann, delivery(&read[0]), true).await?);
    assert!(rig.heartbeat(bob, delivery(&again[0]), true).await?);
    Ok(())
}

/// A late heartbeat must not change when a failed entry is due.
pub async fn heartbeat_of_a_delayed_entry_is_rejected(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let ann = rig.join(1).await?;
    let read = rig.read(ann, 1).await?;
    rig.settle(ann, delivery(&read[0]), retry(1_000)).await?;
    assert!(!rig.heartbeat(ann, delivery(&read[0]), false).await?);
    rig.time.advance(1_000).await?;
    assert_eq!(rig.read(ann, 1).await?.len(), 1);
    Ok(())
}

/// (S5) Redis returns pending entries first: many that fail would keep new ones from being read.
// shows: hazard X5
pub async fn new_entries_flow_while_many_fail(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let failing = rig.append(&["a"; 10]).await?;
    let reader = rig.join(1).await?;
    for read in rig.read(reader, 10).await? {
        rig.settle(reader, delivery(&read), retry(0)).await?;
    }
    let new = rig.append(&["b"; 10]).await?;
    let read = ids(&rig.read(reader, 4).await?);
    assert_eq!(read, [&failing[..2], &new[..2]].concat());
    assert_eq!(rig.read(reader, 20).await?.len(), 16, "no slot is left free");
    Ok(())
}

/// An operator stops a group without stopping its processes.
pub async fn paused_group_delivers_nothing(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let reader = rig.join(1).await?;
    let until = rig.time.now() + 5_000;
    done(rig.run(&Pause { group: rig.group.clone(), until: Some(until) }).await?)?;
    let read = rig.look(reader, 1).await?;
    assert_eq!((read.entries.len(), read.is_paused, read.next_in_ms), (0, true, Some(5_000)));
    done(rig.run(&Pause { group: rig.group.clone(), until: None }).await?)?;
    let read = rig.look(reader, 1).await?;
    assert_eq!((read.entries.len(), read.is_paused, read.next_in_ms), (0, true, None));
    assert_eq!(rig.stats().await?.paused_until, Some(u64::MAX));
    done(rig.run(&Pause { group: rig.group.clone(), until: Some(0) }).await?)?;
    assert_eq!(rig.read(reader, 1).await?.len(), 1);
    Ok(())
}

/// The reply of a read was lost: its entries are leased to the caller, which asks for them.
// shows: hazard X17
pub async fn deliveries_of_a_lost_reply_are_found_again(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a", "b", "c"]).await?;
    let (ann, bob) = (rig.join(1).await?, rig.join(2).await?);
    let read = rig.read(ann, 2).await?;
    rig.read(bob, 1).await?;
    assert_eq!(rig.take_over(ann, EntryId::MIN).await?.entries, read);
    Ok(())
}

/// Reads and take-overs counted their entries, not the bytes: one reply had 300 entries of 1 MB, and broke the connection.
// shows: hazard SF2
pub async fn reply_with_large_entries_ends_early(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let large = "x".repeat(RECORD_BYTES_MAX);
    for _ in 0..5 {
        let call = appending(vec![entry("a", &large), entry("a", &large), entry("a", &large), entry("a", &large)]);
        rig.run(&call).await?;
    }
    let page = rig.run(&ReadLog { after: EntryId::MIN, limit: 100 }).await?;
    let all: Vec<EntryId> = page.iter().map(|entry| entry.id).collect();
    assert_eq!(all.len(), 20, "a page is complete");
    let reader = rig.join(1).await?;
    let first = rig.look(reader, 100).await?;
    assert_eq!((ids(&first.entries), first.next_in_ms), (all[..8].to_vec(), Some(0)), "more is read at once");
    for read in &first.entries {
        rig.settle(reader, delivery(read), retry(0)).await?;
    }
    let mut counts = Vec::new();
    for _ in 0..4 {
        let read = rig.look(reader, 100).await?.entries;
        counts.push(read.iter().map(|delivered| delivered.count).collect::<Vec<_>>());
    }
    let new = |again: usize, new: usize| [vec![2; again], vec![1; new]].concat();
    assert_eq!(
        counts,
        [new(2, 8), new(2, 4), new(4, 0), new(0, 0)],
        "failed entries leave half of a reply to new ones"
    );
    let (mut after, mut pages) = (EntryId::MIN, Vec::new());
    loop {
        let page = rig.take_over(reader, after).await?;
        pages.push(page.entries.len());
        let Some(next) = page.next else { break };
        after = next;
    }
    assert_eq!(pages, [4, 4, 4, 4, 4, 0]);
    Ok(())
}
