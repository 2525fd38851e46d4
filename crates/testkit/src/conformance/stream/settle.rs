//! What an outcome changes, and whose outcome counts.

use super::rig::{LEASE_MS, Rig, delivery, done, ids, retry};
use anyhow::{Context, Result};
use bytes::Bytes;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{
    Delivered, Delivery, Mode, Outcome, Position, ReadDead, Reply, Seek, Settle, Settlement, Verdict,
};
use evenkeel_protocol::stream::tries::{NOTES_MAX, NoteKind, Tries};

fn tries(delivered: &Delivered) -> Result<&Tries> {
    delivered.tries.as_ref().context("the tries are damaged")
}

/// (S1, T2) `XACK` removes an entry of any consumer: a zombie would end the delivery of the next one.
// shows: T2, hazard X1
pub async fn settlement_of_a_former_delivery_changes_nothing(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let (ann, bob) = (rig.join(1).await?, rig.join(2).await?);
    let read = rig.read(ann, 1).await?;
    rig.time.advance(LEASE_MS).await?;
    let again = rig.read(bob, 1).await?;
    assert_eq!(rig.settle(ann, delivery(&read[0]), Outcome::Done).await?, Verdict::Stale);
    // Its delivery count does not help it either.
    assert_eq!(rig.settle(ann, delivery(&again[0]), Outcome::Done).await?, Verdict::Stale);
    assert_eq!(rig.settle(bob, delivery(&again[0]), Outcome::Done).await?, Verdict::Settled);
    assert_eq!(rig.settle(ann, delivery(&read[0]), Outcome::Done).await?, Verdict::AlreadySettled);
    Ok(())
}

/// (T2) The same consumer has the entry again: only the delivery count tells the two apart.
// shows: T2, hazard X1
pub async fn settlement_of_an_earlier_count_changes_nothing(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let ann = rig.join(1).await?;
    let read = rig.read(ann, 1).await?;
    rig.time.advance(LEASE_MS).await?;
    let again = rig.read(ann, 1).await?;
    assert_eq!(rig.settle(ann, delivery(&read[0]), retry(0)).await?, Verdict::Stale);
    assert_eq!(rig.settle(ann, delivery(&again[0]), Outcome::Done).await?, Verdict::Settled);
    Ok(())
}

/// The reply was lost: a repeated settlement must not use another attempt.
// shows: T2
pub async fn repeated_settlement_counts_one_error(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let ann = rig.join(1).await?;
    let read = rig.read(ann, 1).await?;
    assert_eq!(rig.settle(ann, delivery(&read[0]), retry(1_000)).await?, Verdict::Settled);
    assert_eq!(rig.settle(ann, delivery(&read[0]), retry(1_000)).await?, Verdict::AlreadySettled);
    rig.time.advance(1_000).await?;
    let again = rig.read(ann, 1).await?;
    assert_eq!(tries(&again[0])?.errors, 1);
    Ok(())
}

/// (T2) After a seek the entry is delivered anew, with the count of the delivery before.
// shows: T2
pub async fn settlement_from_before_a_seek_changes_nothing(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let before = rig.join(1).await?;
    let read = rig.read(before, 1).await?;
    let beginning = Position::After(EntryId::MIN);
    done(rig.run(&Seek { group: rig.group.clone(), to: beginning }).await?)?;
    let after = rig.join(1).await?;
    assert!(after.epoch > before.epoch);
    assert_eq!(rig.read(after, 1).await?, read);
    let settlement = Settlement { delivery: delivery(&read[0]), outcome: Outcome::Done };
    let reply = rig.run(&Settle { group: rig.group.clone(), reader: before, settlements: vec![settlement] }).await?;
    assert_eq!(reply, Reply::Stale);
    assert_eq!(rig.settle(after, delivery(&read[0]), Outcome::Done).await?, Verdict::Settled);
    Ok(())
}

/// (T4) Delays are in Redis, so that they survive the process.
// shows: T4, hazard X6
pub async fn failed_entry_is_delivered_after_its_delay(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let (ann, bob) = (rig.join(1).await?, rig.join(2).await?);
    let read = rig.read(ann, 1).await?;
    rig.settle(ann, delivery(&read[0]), retry(90_000)).await?;
    rig.time.advance(LEASE_MS).await?;
    let read = rig.look(bob, 1).await?;
    assert_eq!((read.entries.len(), read.next_in_ms), (0, Some(60_000)), "no lease of it is left");
    rig.time.advance(60_000).await?;
    let again = rig.read(bob, 1).await?;
    let (count, tries) = (again[0].count, tries(&again[0])?);
    assert_eq!((count, tries.errors, tries.lease_expiries(count), tries.notes[0].kind), (2, 1, 0, NoteKind::Failed));
    Ok(())
}

/// A busy resource, or a shutdown, is no failure of the entry.
pub async fn snooze_counts_nothing(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    rig.append(&["a"]).await?;
    let (ann, _) = rig.own(1).await?;
    let read = rig.read(ann, 1).await?;
    rig.settle(ann, delivery(&read[0]), Outcome::Snooze { delay_ms: 10 }).await?;
    rig.time.advance(9).await?;
    assert_eq!(rig.read(ann, 1).await?, []);
    rig.time.advance(1).await?;
    let again = rig.read(ann, 1).await?;
    let (count, tries) = (again[0].count, tries(&again[0])?);
    assert_eq!((tries.errors, tries.crashes, tries.lease_expiries(count), tries.notes.len()), (0, 0, 0, 0));
    Ok(())
}

/// (S7, T4) Entries next to one that kills its process have no outcome either: a crash counts only for one that ran alone.
// shows: T4, hazard X7
pub async fn crash_counts_for_an_entry_that_ran_alone(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["killer", "neighbor"]).await?;
    let reader = rig.join(1).await?;
    assert_eq!(rig.read(reader, 2).await?.len(), 2);
    rig.time.advance(LEASE_MS).await?;
    let suspects = rig.read(reader, 2).await?;
    for suspect in &suspects {
        assert_eq!((tries(suspect)?.lease_expiries(suspect.count), tries(suspect)?.crashes), (1, 0));
    }
    assert!(rig.heartbeat(reader, delivery(&suspects[0]), true).await?);
    rig.settle(reader, delivery(&suspects[1]), Outcome::Snooze { delay_ms: 0 }).await?;
    rig.time.advance(LEASE_MS).await?;
    let again = rig.read(reader, 2).await?;
    let killer = again.iter().find(|again| again.key == "killer").context("the killer is due")?;
    assert_eq!((tries(killer)?.crashes, tries(killer)?.lease_expiries(killer.count)), (1, 2));
    assert_eq!(tries(killer)?.notes[0].kind, NoteKind::Crashed);
    // The next delivery is not said to run alone.
    rig.time.advance(LEASE_MS).await?;
    let again = rig.read(reader, 2).await?;
    assert!(
        again
            .iter()
            .all(|again| again.tries.as_ref().is_some_and(|tries| tries.crashes == u8::from(again.key == "killer")))
    );
    Ok(())
}

/// The history of an entry stays bounded.
pub async fn history_has_the_newest_errors(rig: &Rig) -> Result<()> {
    rig.open(Mode::Partition).await?;
    rig.append(&["a"]).await?;
    let (ann, _) = rig.own(1).await?;
    for number in 0..20 {
        let read = rig.read(ann, 1).await?;
        let error = Bytes::from(vec![b'x'; number]);
        rig.settle(ann, delivery(&read[0]), Outcome::Retry { delay_ms: 0, error }).await?;
    }
    let read = rig.read(ann, 1).await?;
    let lengths: Vec<usize> = tries(&read[0])?.notes.iter().map(|note| note.text.len()).collect();
    assert_eq!((tries(&read[0])?.errors, lengths), (20, (20 - NOTES_MAX..20).collect()));
    Ok(())
}

/// (S18) One entry of a batch that fails does not repeat the others.
// shows: hazard X18
pub async fn each_entry_of_a_batch_has_its_outcome(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let appended = rig.append(&["a", "b", "c"]).await?;
    let reader = rig.join(1).await?;
    let read = rig.read(reader, 3).await?;
    let unknown = Delivery { id: appended[2].next(), count: 1 };
    let outcomes = [
        (delivery(&read[0]), Outcome::Done),
        (delivery(&read[1]), retry(0)),
        (delivery(&read[0]), Outcome::Done),
        (unknown, Outcome::Done),
    ];
    let settlements = outcomes.map(|(delivery, outcome)| Settlement { delivery, outcome });
    let verdicts =
        done(rig.run(&Settle { group: rig.group.clone(), reader, settlements: settlements.to_vec() }).await?)?;
    let (settled, already) = (Verdict::Settled, Verdict::AlreadySettled);
    assert_eq!(verdicts, [settled, settled, already, already]);
    assert_eq!(rig.read(reader, 3).await?.iter().map(|read| read.id).collect::<Vec<_>>(), [appended[1]]);
    Ok(())
}

/// The scripts find the deliveries of one call together: what the call has recorded before counts, and what lies between belongs to others.
pub async fn outcomes_of_one_call_see_each_other(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let appended = rig.append(&["a", "b", "c", "d", "e", "f", "g"]).await?;
    let (ann, bob) = (rig.join(1).await?, rig.join(2).await?);
    let first = rig.read(ann, 4).await?;
    rig.time.advance(LEASE_MS).await?;
    let others = rig.read(bob, 4).await?;
    assert_eq!(ids(&others), [appended[0], appended[1], appended[4], appended[5]], "half a read is for expired leases");
    let mine = rig.read(ann, 10).await?;
    assert_eq!(ids(&mine), [appended[2], appended[3], appended[6]]);
    let dead = || Outcome::Dead { reason: Bytes::from_static(b"broken"), parks_key: false };
    let outcomes = [
        (delivery(&first[0]), Outcome::Done, Verdict::Stale),
        (delivery(&others[1]), Outcome::Done, Verdict::Stale),
        (delivery(&first[2]), Outcome::Done, Verdict::Stale),
        (delivery(&mine[0]), Outcome::Done, Verdict::Settled),
        (delivery(&mine[0]), retry(0), Verdict::AlreadySettled),
        (delivery(&mine[1]), retry(0), Verdict::Settled),
        (delivery(&mine[1]), Outcome::Done, Verdict::AlreadySettled),
        (delivery(&others[3]), dead(), Verdict::Stale),
        (delivery(&mine[2]), dead(), Verdict::Settled),
        (delivery(&mine[2]), dead(), Verdict::AlreadySettled),
    ];
    let settlements = outcomes.clone().map(|(delivery, outcome, _)| Settlement { delivery, outcome });
    let verdicts =
        done(rig.run(&Settle { group: rig.group.clone(), reader: ann, settlements: settlements.to_vec() }).await?)?;
    assert_eq!(verdicts, outcomes.map(|(_, _, verdict)| verdict));
    let (letters, stats) =
        (rig.run(&ReadDead { group: rig.group.clone(), after: EntryId::MIN, limit: 10 }).await?, rig.stats().await?);
    assert_eq!((letters.len(), stats.pending), (1, 5), "four of the other, and one that is due again");
    Ok(())
}

/// A suspect that has survived for long is joined by others: the death of the process is then no longer its own crash.
pub async fn crash_of_an_entry_no_longer_alone_is_not_counted(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    let ann = rig.join(1).await?;
    let read = rig.read(ann, 1).await?;
    assert!(rig.heartbeat(ann, delivery(&read[0]), true).await?);
    assert!(rig.heartbeat(ann, delivery(&read[0]), false).await?);
    rig.time.advance(LEASE_MS).await?;
    let again = rig.read(ann, 1).await?;
    assert_eq!((again[0].count, tries(&again[0])?.crashes), (2, 0));
    Ok(())
}
