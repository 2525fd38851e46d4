//! What is in the log, once, and in which order.

use super::rig::{Rig, appending, consumer, entry};
use anyhow::Result;
use bytes::Bytes;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{
    Append, Appended, GroupSpec, KEY_BYTES_MAX, Mode, NewEntry, Open, Opened, Position, RECORD_BYTES_MAX, ReadLog,
    Sequenced,
};

fn numbered(sequence: u64, previous: u64) -> NewEntry {
    NewEntry { sequenced: Some(Sequenced { producer: consumer(9), sequence, previous }), ..entry("order/1", "record") }
}

async fn one(rig: &Rig, entry: NewEntry) -> Result<Option<Appended>> {
    let replies = rig.run(&appending(vec![entry])).await?;
    Ok(replies.map(|replies| replies[0]))
}

/// A stream that Redis has lost must be recreated with its groups; an append that creates it hides the loss.
pub async fn append_requires_an_open_partition(rig: &Rig) -> Result<()> {
    assert_eq!(one(rig, entry("order/1", "record")).await?, None);
    rig.open(Mode::Entry).await?;
    assert!(matches!(one(rig, entry("order/1", "record")).await?, Some(Appended::Appended(_))));
    Ok(())
}

/// The reply was lost: the producer sends the same sequence again.
pub async fn sequence_is_appended_once(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let Some(Appended::Appended(id)) = one(rig, numbered(1, 0)).await? else { anyhow::bail!("not appended") };
    assert_eq!(one(rig, numbered(1, 0)).await?, Some(Appended::Duplicate(Some(id))));
    one(rig, numbered(2, 1)).await?;
    assert_eq!(one(rig, numbered(1, 0)).await?, Some(Appended::Duplicate(None)));
    assert_eq!(rig.run(&ReadLog { after: EntryId::MIN, limit: 10 }).await?.len(), 2);
    Ok(())
}

/// Two relays: the later append of a key arrives before the earlier one.
// shows: T3
pub async fn sequence_out_of_order_is_rejected(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    one(rig, numbered(1, 0)).await?;
    assert_eq!(one(rig, numbered(3, 2)).await?, Some(Appended::OutOfOrder { last: 1 }));
    let batch = appending(vec![numbered(2, 1), numbered(3, 2)]);
    let replies = rig.run(&batch).await?.unwrap_or_default();
    assert!(replies.iter().all(|reply| matches!(reply, Appended::Appended(_))), "{replies:?}");
    Ok(())
}

/// The last sequence of a producer is stored for its window only.
pub async fn producer_is_forgotten_after_its_window(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    one(rig, numbered(1, 0)).await?;
    rig.time.advance(3_600_000).await?;
    one(rig, entry("order/2", "record")).await?;
    assert!(matches!(one(rig, numbered(1, 0)).await?, Some(Appended::Duplicate(_))));
    rig.time.advance(3_600_001).await?;
    one(rig, entry("order/2", "record")).await?;
    assert!(matches!(one(rig, numbered(1, 0)).await?, Some(Appended::Appended(_))));
    Ok(())
}

/// Back-pressure instead of a Redis that runs out of memory.
// shows: hazard X9
pub async fn append_above_the_limit_is_full(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let entries = vec![entry("a", "1"), entry("b", "2"), entry("c", "3")];
    let call = Append { entries_max: Some(2), ..appending(entries) };
    let replies = rig.run(&call).await?.unwrap_or_default();
    assert!(matches!(replies[..], [Appended::Appended(_), Appended::Appended(_), Appended::Full]), "{replies:?}");
    Ok(())
}

/// Redis rejects ids below the last one; an append must not fail because the clock was set back.
pub async fn ids_rise_when_the_clock_is_set_back(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let first = rig.append(&["a", "b"]).await?;
    assert_eq!(first[1], first[0].next());
    rig.time.set_back(60_000).await?;
    assert_eq!(rig.append(&["c"]).await?, [first[1].next()]);
    rig.time.advance(120_000).await?;
    assert_eq!(rig.append(&["d"]).await?, [EntryId::at(first[0].ms + 60_000)]);
    Ok(())
}

/// After a failover to a server whose clock is behind, ids below the groups' positions would never be read.
pub async fn new_ids_exceed_the_last_known_id(rig: &Rig) -> Result<()> {
    let last = EntryId { ms: rig.time.now() + 3_600_000, sequence: 7 };
    let spec = GroupSpec { name: rig.group.clone(), position: Position::After(last), mode: Mode::Entry };
    rig.run(&Open { groups: vec![spec], last }).await?;
    let appended = rig.append(&["a"]).await?;
    assert_eq!(appended, [last.next()]);
    let reader = rig.join(1).await?;
    assert_eq!(super::rig::ids(&rig.read(reader, 10).await?), appended);
    Ok(())
}

/// Opening again keeps what is there, and never changes how a group is leased.
pub async fn open_keeps_existing_groups(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let appended = rig.append(&["a"]).await?;
    let spec = GroupSpec { name: rig.group.clone(), position: Position::End, mode: Mode::Entry };
    let other = GroupSpec { mode: Mode::Partition, ..spec.clone() };
    let opened = rig.run(&Open { groups: vec![spec, other], last: EntryId::MIN }).await?;
    assert_eq!(opened, [Opened::Existed, Opened::Refused]);
    let reader = rig.join(1).await?;
    assert_eq!(super::rig::ids(&rig.read(reader, 10).await?), appended);
    Ok(())
}

/// What cannot work is refused before anything is sent.
pub async fn append_arguments_are_bounded(rig: &Rig) -> Result<()> {
    rig.open(Mode::Entry).await?;
    let large = |bytes: usize| Bytes::from(vec![b'x'; bytes]);
    for wrong in [
        appending(vec![entry("a", "1"); 501]),
        appending(vec![NewEntry { key: large(KEY_BYTES_MAX + 1), ..entry("a", "1") }]),
        appending(vec![NewEntry { record: large(RECORD_BYTES_MAX + 1), ..entry("a", "1") }]),
        appending(vec![numbered(0, 0)]),
        appending(vec![numbered(2, 2)]),
        appending(vec![numbered(1 << 53, 0)]),
        Append { producer_window_ms: u64::MAX, ..appending(vec![entry("a", "1")]) },
    ] {
        assert!(rig.run(&wrong).await.is_err());
    }
    let largest = NewEntry { key: large(KEY_BYTES_MAX), record: large(RECORD_BYTES_MAX), sequenced: None };
    assert!(matches!(one(rig, largest).await?, Some(Appended::Appended(_))));
    Ok(())
}
