//! What only a server shows: other programs that change the same keys, and a group that Redis has lost.

use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{
    GroupSpec, Mode, Open, Opened, Outcome, Position, Read, Reply, TakeOver, Trimmed,
};
use redis::{Cmd, Value};
use testkit::conformance::stream::{LEASE_MS, Rig, delivery, done, ids};

async fn command(rig: &Rig, cmd: &Cmd) -> anyhow::Result<Value> {
    let link = rig.link.as_ref().expect("the rig is on Redis");
    Ok(link.command(rig.partition.tag().as_bytes(), cmd).await?)
}

fn log(rig: &Rig) -> String {
    format!("{}:log", rig.partition.tag())
}

/// (S11) The group is gone, its other keys are not: readers of the lost group must not pass for readers of the new one.
// shows: T2
#[tokio::test]
async fn recreated_group_has_a_higher_epoch() -> anyhow::Result<()> {
    let rig = Rig::redis().await?;
    rig.open(Mode::Entry).await?;
    rig.append(&["a", "b"]).await?;
    let before = rig.join(1).await?;
    let read = rig.read(before, 1).await?;
    let group = rig.group.as_str();
    command(&rig, redis::cmd("XGROUP").arg("DESTROY").arg(log(&rig)).arg(group)).await?;
    let reply = rig
        .streams
        .run(&rig.partition, &Read { group: rig.group.clone(), reader: before, limit: 1, lease_ms: LEASE_MS })
        .await?;
    assert_eq!(reply, Reply::Missing);
    let spec = GroupSpec { name: rig.group.clone(), position: Position::After(EntryId::MIN), mode: Mode::Entry };
    let opened = rig.run(&Open { groups: vec![spec], last: EntryId::MIN }).await?;
    assert_eq!(opened, [Opened::Created]);
    let after = rig.join(1).await?;
    assert!(after.epoch > before.epoch, "{} follows {}", after.epoch, before.epoch);
    assert_eq!(rig.read(after, 1).await?, read);
    Ok(())
}

/// A flush removes everything: calls report it, and `open` makes the partition usable again.
#[tokio::test]
async fn lost_partition_is_reported_until_it_is_opened() -> anyhow::Result<()> {
    let rig = Rig::redis().await?;
    rig.open(Mode::Partition).await?;
    let appended = rig.append(&["a"]).await?;
    let (before, _) = rig.own(1).await?;
    let tag = rig.partition.tag();
    let keys = redis::cmd("DEL").arg(log(&rig)).arg(format!("{tag}:g:{}", rig.group)).clone();
    command(&rig, &keys).await?;
    let reply = rig
        .streams
        .run(&rig.partition, &Read { group: rig.group.clone(), reader: before, limit: 1, lease_ms: LEASE_MS })
        .await?;
    assert_eq!(reply, Reply::Missing);
    assert!(rig.append(&["b"]).await?.is_empty());
    let spec = GroupSpec { name: rig.group.clone(), position: Position::End, mode: Mode::Partition };
    rig.run(&Open { groups: vec![spec], last: appended[0] }).await?;
    let (after, pending) = rig.own(1).await?;
    assert_eq!(pending, []);
    let appended = rig.append(&["b"]).await?;
    assert_eq!(ids(&rig.read(after, 9).await?), appended);
    Ok(())
}

/// (S9) Another program has trimmed the log: a pending entry that it removed is reported, and does not come back forever.
// shows: hazard X4
#[tokio::test]
async fn deleted_pending_entries_are_reported_as_lost() -> anyhow::Result<()> {
    let rig = Rig::redis().await?;
    rig.open(Mode::Entry).await?;
    let appended = rig.append(&["a", "b"]).await?;
    let reader = rig.join(1).await?;
    rig.read(reader, 2).await?;
    command(&rig, redis::cmd("XDEL").arg(log(&rig)).arg(appended[0].to_string())).await?;
    rig.time.advance(LEASE_MS).await?;
    let read = rig.look(reader, 2).await?;
    assert_eq!((ids(&read.entries), read.lost), (vec![appended[1]], vec![appended[0]]));
    assert_eq!(rig.stats().await?.pending, 1);
    command(&rig, redis::cmd("XDEL").arg(log(&rig)).arg(appended[1].to_string())).await?;
    let taken = rig.take_over(reader, EntryId::MIN).await?;
    assert_eq!((taken.entries, taken.lost), (vec![], vec![appended[1]]));
    assert_eq!(rig.stats().await?.pending, 0);
    Ok(())
}

/// (S4) A page of pending entries that are all deleted is not the last one, neither for a new owner nor for a reader.
// shows: T8, hazard X4
#[tokio::test]
async fn page_of_deleted_pending_entries_is_not_the_last() -> anyhow::Result<()> {
    for mode in [Mode::Partition, Mode::Entry] {
        let rig = Rig::redis().await?;
        rig.open(mode).await?;
        let appended = rig.append(&["a", "b", "c", "d", "e"]).await?;
        let reader = rig.join(1).await?;
        if mode == Mode::Partition {
            rig.take_over(reader, EntryId::MIN).await?;
        }
        rig.read(reader, 5).await?;
        for id in &appended[..4] {
            command(&rig, redis::cmd("XDEL").arg(log(&rig)).arg(id.to_string())).await?;
        }
        rig.time.advance(LEASE_MS).await?;
        let reader = rig.join(2).await?;
        let (mut pages, mut lost, mut found, mut after) = (0, Vec::new(), Vec::new(), Some(EntryId::MIN));
        while let Some(from) = after {
            assert!(pages < 10, "{pages} pages");
            pages += 1;
            if mode == Mode::Partition {
                let page = done(
                    rig.streams
                        .run(&rig.partition, &TakeOver { group: rig.group.clone(), reader, after: from, limit: 2 })
                        .await?,
                )?;
                lost.extend(page.lost);
                found.extend(ids(&page.entries));
                after = page.next;
            } else {
                let page = rig.look(reader, 2).await?;
                lost.extend(page.lost);
                found.extend(ids(&page.entries));
                after = (page.next_in_ms == Some(0)).then_some(from);
            }
        }
        assert_eq!((lost.as_slice(), found), (&appended[..4], vec![appended[4]]), "{mode:?}");
    }
    Ok(())
}

/// (T6) A consumer group that another program has made on the log holds the log back, too.
// shows: T6, hazard X9
#[tokio::test]
async fn trim_keeps_what_other_groups_have_not_read() -> anyhow::Result<()> {
    let rig = Rig::redis().await?;
    rig.open(Mode::Entry).await?;
    rig.append(&["a"]).await?;
    rig.time.advance(1).await?;
    let reader = rig.join(1).await?;
    let read = rig.read(reader, 1).await?;
    rig.settle(reader, delivery(&read[0]), Outcome::Done).await?;
    command(&rig, redis::cmd("XGROUP").arg("CREATE").arg(log(&rig)).arg("theirs").arg("0")).await?;
    assert_eq!(rig.trim(&[], 0).await?, Trimmed::Removed { entries: 0, more: false });
    command(&rig, redis::cmd("XGROUP").arg("DESTROY").arg(log(&rig)).arg("theirs")).await?;
    assert_eq!(rig.trim(&[], 0).await?, Trimmed::Removed { entries: 1, more: false });
    Ok(())
}

/// A consumer group that another program has made is not taken for one of ours: its pending entries have no leases.
#[tokio::test]
async fn group_of_another_program_is_refused() -> anyhow::Result<()> {
    let rig = Rig::redis().await?;
    rig.run(&Open { groups: Vec::new(), last: EntryId::MIN }).await?;
    let group = rig.group.as_str();
    command(&rig, redis::cmd("XGROUP").arg("CREATE").arg(log(&rig)).arg(group).arg("0")).await?;
    let spec = GroupSpec { name: rig.group.clone(), position: Position::End, mode: Mode::Entry };
    let opened = rig.run(&Open { groups: vec![spec], last: EntryId::MIN }).await?;
    assert_eq!(opened, [Opened::Refused]);
    Ok(())
}
