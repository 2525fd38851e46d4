//! Retention, seeking and silent consumers.

use super::rig::{LEASE_MS, Rig, delivery, done, ids, retry};
use anyhow::Result;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::GroupName;
use evenkeel_protocol::stream::steps::{Mode, Outcome, Position, Read, Seek, Settle, Settlement, Sweep, Trim, Trimmed};

const NONE: Trimmed = Trimmed::Removed { entries: 0, more: false };

/// (S9, T6) A length limit drops what a slow group has not read.
// shows: T6, hazard X9
pub async fn trim_keeps_unread_entries(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let slow = GroupName::new("slow")?;
    rig.open_group(&slow, Mode::Entry).await?;
    let appended = rig.append(&["a", "b", "c"]).await?;
    rig.time.advance(1).await?;
    let reader = rig.join(1).await?;
    for read in rig.read(reader, 3).await? {
        rig.settle(reader, delivery(&read), Outcome::Done).await?;
    }
    assert_eq!(rig.trim(&[rig.group.clone(), slow.clone()], 0).await?, NONE);
    let read = done(rig.run(&Read { group: slow.clone(), reader, limit: 1, lease_ms: LEASE_MS }).await?)?;
    let settlement = Settlement { delivery: delivery(&read.entries[0]), outcome: Outcome::Done };
    done(rig.run(&Settle { group: slow.clone(), reader, settlements: vec![settlement] }).await?)?;
    assert_eq!(rig.trim(&[], 0).await?, Trimmed::Removed { entries: 1, more: false });
    let read = done(rig.run(&Read { group: slow.clone(), reader, limit: 9, lease_ms: LEASE_MS }).await?)?;
    assert_eq!(ids(&read.entries), appended[1..]);
    Ok(())
}

/// (S9, T6) Entries that run, or wait for a retry, are still needed.
// shows: T6, hazard X9
pub async fn trim_keeps_pending_entries(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a", "b", "c"]).await?;
    rig.time.advance(1).await?;
    let reader = rig.join(1).await?;
    let read = rig.read(reader, 3).await?;
    rig.settle(reader, delivery(&read[0]), Outcome::Done).await?;
    rig.settle(reader, delivery(&read[1]), retry(5_000)).await?;
    rig.settle(reader, delivery(&read[2]), Outcome::Done).await?;
    assert_eq!(rig.trim(&[], 0).await?, Trimmed::Removed { entries: 1, more: false });
    rig.time.advance(5_000).await?;
    let again = rig.look(reader, 1).await?;
    assert_eq!((ids(&again.entries), again.lost), (vec![read[1].id], vec![]));
    Ok(())
}

/// (T6) A registered group that is missing has not read anything.
// shows: T6
pub async fn trim_refuses_while_a_group_is_missing(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    rig.time.advance(1).await?;
    let reader = rig.join(1).await?;
    let read = rig.read(reader, 1).await?;
    rig.settle(reader, delivery(&read[0]), Outcome::Done).await?;
    let missing = GroupName::new("shipping")?;
    let groups = [rig.group.clone(), missing.clone()];
    assert_eq!(rig.trim(&groups, 0).await?, Trimmed::GroupMissing(missing));
    assert_eq!(rig.stats().await?.length, 1);
    Ok(())
}

/// Entries are kept for replays.
// shows: T6
pub async fn trim_keeps_young_entries(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"; 5]).await?;
    let reader = rig.join(1).await?;
    for read in rig.read(reader, 5).await? {
        rig.settle(reader, delivery(&read), Outcome::Done).await?;
    }
    rig.time.advance(60_000).await?;
    assert_eq!(rig.trim(&[], 60_000).await?, NONE);
    rig.time.advance(1).await?;
    let trim = Trim { groups: vec![], retain_ms: 60_000, limit: 2 };
    let trimmed = rig.run(&trim).await?;
    assert_eq!(trimmed, Trimmed::Removed { entries: 2, more: true });
    assert_eq!(rig.trim(&[], 60_000).await?, Trimmed::Removed { entries: 3, more: false });
    Ok(())
}

/// (S10, T8) `XGROUP DELCONSUMER` destroys the pending entries of the consumer: they would never be delivered again.
// shows: T8, hazard X10
pub async fn consumer_with_pending_entries_is_kept(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let appended = rig.append(&["a"]).await?;
    let (ann, bob) = (rig.join(1).await?, rig.join(2).await?);
    rig.read(ann, 1).await?;
    rig.read(bob, 1).await?;
    rig.time.advance(LEASE_MS).await?;
    let step = Sweep { group: rig.group.clone(), silent_ms: LEASE_MS };
    let sweep = || rig.run(&step);
    assert_eq!(done(sweep().await?)?, 1, "only the one without entries");
    let again = rig.read(bob, 1).await?;
    assert_eq!(ids(&again), appended);
    assert_eq!(done(sweep().await?)?, 1, "its entries were taken over");
    assert_eq!(done(sweep().await?)?, 0, "the other one is not silent");
    Ok(())
}

/// Replays by id, and skips to the end.
pub async fn seek_moves_the_group(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    let appended = rig.append(&["a", "b", "c"]).await?;
    let (reader, _) = rig.own(1).await?;
    assert_eq!(rig.read(reader, 2).await?.len(), 2);
    done(rig.run(&Seek { group: rig.group.clone(), to: Position::After(appended[0]) }).await?)?;
    let stats = rig.stats().await?;
    assert_eq!((stats.position, stats.pending, stats.unread), (appended[0], 0, Some(appended[1])));
    assert!(stats.unread_entries.is_none_or(|entries| entries == 2), "{stats:?}");
    let (reader, pending) = rig.own(1).await?;
    assert_eq!(pending, []);
    assert_eq!(ids(&rig.read(reader, 9).await?), appended[1..]);
    done(rig.run(&Seek { group: rig.group.clone(), to: Position::End }).await?)?;
    let (reader, _) = rig.own(1).await?;
    assert_eq!(rig.read(reader, 9).await?, []);
    assert_eq!(rig.stats().await?.position, appended[2]);
    let at = Position::After(EntryId::MIN);
    done(rig.run(&Seek { group: rig.group.clone(), to: at }).await?)?;
    let (reader, _) = rig.own(1).await?;
    assert_eq!(rig.stats().await?.unread_entries, Some(3));
    assert_eq!(ids(&rig.read(reader, 9).await?), appended);
    assert_eq!(rig.stats().await?.unread_entries, Some(0));
    Ok(())
}
