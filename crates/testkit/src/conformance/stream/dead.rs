//! Dead letters: never more than one copy, and back to their own group only.

use super::rig::{Rig, dead, delivery, done, ids};
use anyhow::{Context, Result};
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::GroupName;
use evenkeel_protocol::stream::steps::{
    DeadLetter, Discard, Join, Mode, Outcome, Read, ReadDead, ReadStats, Reader, Redrive, Redriven, Reply, Settle,
    Trimmed, Verdict,
};
use evenkeel_protocol::stream::tries::NoteKind;

async fn letters(rig: &Rig) -> Result<Vec<DeadLetter>> {
    Ok(rig.run(&ReadDead { group: rig.group.clone(), after: EntryId::MIN, limit: 100 }).await?)
}

async fn redrive(rig: &Rig, letters: &[EntryId]) -> Result<Vec<Redriven>> {
    let replies = rig.run(&Redrive { group: rig.group.clone(), letters: letters.to_vec() }).await?;
    replies.context("the partition is missing")
}

async fn discard(rig: &Rig, reader: Option<Reader>, letter: EntryId) -> Result<bool> {
    Ok(done(rig.run(&Discard { group: rig.group.clone(), reader, letters: vec![letter] }).await?)?[0])
}

/// (S8, T4) Copy and acknowledgement are one step; a repeat adds no second copy.
// shows: T4, hazard X8
pub async fn dead_letter_exists_once_with_its_history(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let appended = rig.append(&["a"]).await?;
    let reader = rig.join(1).await?;
    let read = rig.read(reader, 1).await?;
    assert_eq!(rig.settle(reader, delivery(&read[0]), dead(false)).await?, Verdict::Settled);
    assert_eq!(rig.settle(reader, delivery(&read[0]), dead(false)).await?, Verdict::AlreadySettled);
    let letters = letters(rig).await?;
    let tries = letters[0].tries.as_ref().context("the tries are damaged")?;
    assert_eq!((letters.len(), letters[0].origin, &letters[0].key[..]), (1, appended[0], &b"a"[..]));
    assert_eq!(
        (tries.errors, tries.notes[0].kind, &tries.notes[0].text[..]),
        (1, NoteKind::Dead, &b"no such account"[..])
    );
    assert_eq!((rig.stats().await?.pending, rig.stats().await?.dead), (0, 1));
    Ok(())
}

/// An ordinary append would reach every group.
// shows: T4, hazard X6, stream::DeadLetters::replay, stream::DeadLetters::remove, stream::DeadLetters::replay_all
// shows: stream::DeadLetters::remove_all
pub async fn redriven_letter_reaches_its_group_only(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let other = GroupName::new("shipping")?;
    rig.open_group(&other, Mode::Entry).await?;
    let appended = rig.append(&["a"]).await?;
    let reader = rig.join(1).await?;
    let read = rig.read(reader, 1).await?;
    rig.settle(reader, delivery(&read[0]), dead(false)).await?;
    let letter = letters(rig).await?[0].id;
    let [Redriven::Appended(id)] = redrive(rig, &[letter]).await?[..] else { anyhow::bail!("not appended") };
    assert_eq!(redrive(rig, &[letter]).await?, [Redriven::Unknown], "a repeat");
    assert_eq!(letters(rig).await?, []);
    let again = rig.read(reader, 1).await?;
    assert_eq!((again[0].id, again[0].origin, again[0].count), (id, Some(appended[0]), 1));
    let read = rig.run(&Read { group: other.clone(), reader, limit: 10, lease_ms: 1_000 }).await?;
    assert_eq!(ids(&done(read)?.entries), appended);
    // It dies again: the origin is that of the first entry.
    rig.settle(reader, delivery(&again[0]), dead(false)).await?;
    assert_eq!(letters(rig).await?[0].origin, appended[0]);
    Ok(())
}

/// A letter of a sequence that is sent back to the end of the log would be overtaken.
// shows: T4
pub async fn letter_of_a_parked_key_is_not_redriven(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    rig.append(&["a", "a", "b"]).await?;
    let (reader, _) = rig.own(1).await?;
    let read = rig.read(reader, 1).await?;
    rig.settle(reader, delivery(&read[0]), dead(true)).await?;
    let rest = rig.read(reader, 2).await?;
    assert_eq!((rest[0].is_parked, rest[1].is_parked), (true, false));
    let letter = letters(rig).await?[0].id;
    assert_eq!(redrive(rig, &[letter]).await?, [Redriven::Parked]);
    assert_eq!(letters(rig).await?.len(), 1);
    Ok(())
}

/// A key is free again when its last letter is replayed, in the same step.
// shows: T4
pub async fn key_is_parked_until_its_last_letter_is_deleted(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    rig.append(&["a", "a", "a"]).await?;
    let (reader, _) = rig.own(1).await?;
    for read in rig.read(reader, 2).await? {
        rig.settle(reader, delivery(&read), dead(true)).await?;
    }
    let letters = letters(rig).await?;
    assert!(discard(rig, Some(reader), letters[0].id).await?);
    assert!(!discard(rig, Some(reader), letters[0].id).await?, "a repeat");
    assert_eq!(rig.stats().await?.parked_keys, 1);
    let third = rig.read(reader, 1).await?;
    assert!(third[0].is_parked);
    assert!(discard(rig, None, letters[1].id).await?);
    assert_eq!(rig.stats().await?.parked_keys, 0);
    assert_eq!(rig.settle(reader, delivery(&third[0]), Outcome::Done).await?, Verdict::Settled);
    Ok(())
}

/// Dead letters outlive the log.
// shows: T4
pub async fn dead_letter_outlives_its_entry(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let reader = rig.join(1).await?;
    let read = rig.read(reader, 1).await?;
    rig.settle(reader, delivery(&read[0]), dead(false)).await?;
    rig.time.advance(1).await?;
    assert_eq!(rig.trim(&[], 0).await?, Trimmed::Removed { entries: 1, more: false });
    let letter = letters(rig).await?[0].clone();
    assert_eq!(&letter.record[..], b"record");
    assert!(matches!(redrive(rig, &[letter.id]).await?[..], [Redriven::Appended(_)]));
    assert_eq!(rig.read(reader, 1).await?.len(), 1);
    Ok(())
}

/// Every step on a group that was never opened, or that Redis has lost, replies that the group is missing.
// shows: hazard X11
pub async fn missing_group_is_reported(rig: &Rig) -> Result<()> {
    let group = || rig.group.clone();
    let reader = Reader { consumer: super::rig::consumer(1), fence: 0, epoch: 1 };
    assert_eq!(
        rig.run(&Join { group: group(), consumer: reader.consumer, lease_ms: 1_000, fence_floor: 0 }).await?,
        Reply::Missing
    );
    assert_eq!(rig.run(&Read { group: group(), reader, limit: 1, lease_ms: 1_000 }).await?, Reply::Missing);
    assert_eq!(rig.run(&Settle { group: group(), reader, settlements: Vec::new() }).await?, Reply::Missing);
    assert_eq!(rig.run(&ReadStats { group: group() }).await?, Reply::Missing);
    assert_eq!(rig.run(&Redrive { group: group(), letters: vec![EntryId::MIN] }).await?, None);
    assert_eq!(rig.trim(&[], 0).await?, Trimmed::Missing);
    Ok(())
}

/// A reader that waits for entries after the tail would never see those behind a page that it skipped.
pub async fn read_that_skips_entries_asks_for_another(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let other = GroupName::new("shipping")?;
    rig.open_group(&other, Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let reader = rig.join(1).await?;
    let read = rig.read(reader, 1).await?;
    rig.settle(reader, delivery(&read[0]), dead(false)).await?;
    let letter = letters(rig).await?[0].id;
    let first = done(rig.run(&Read { group: other.clone(), reader, limit: 1, lease_ms: 1_000 }).await?)?;
    assert_eq!((first.entries.len(), first.next_in_ms), (1, Some(1_000)));
    redrive(rig, &[letter]).await?;
    let unread = rig.append(&["b"]).await?;
    let skipped = done(rig.run(&Read { group: other.clone(), reader, limit: 1, lease_ms: 1_000 }).await?)?;
    assert_eq!((skipped.entries.len(), skipped.tail, skipped.next_in_ms), (0, unread[0], Some(0)));
    let next = done(rig.run(&Read { group: other.clone(), reader, limit: 1, lease_ms: 1_000 }).await?)?;
    assert_eq!(ids(&next.entries), unread);
    Ok(())
}
