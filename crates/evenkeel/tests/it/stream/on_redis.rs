//! What only a server shows: other programs that change the same keys, and a group that Redis has lost.

use evenkeel_protocol::stream::RedisStream;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{GroupSpec, Mode, Opened, Outcome, Position, Reply, StreamSteps, Trimmed};
use redis::{Cmd, Value};
use testkit::conformance::stream::{LEASE_MS, World, delivery, ids};

async fn command(world: &World<RedisStream>, cmd: &Cmd) -> anyhow::Result<Value> {
    let link = world.link.as_ref().expect("the world is on Redis");
    Ok(link.command(world.partition.tag().as_bytes(), cmd).await?)
}

fn log(world: &World<RedisStream>) -> String {
    format!("{}:log", world.partition.tag())
}

/// (S11) The group is gone, its other keys are not: readers of the lost group must not pass for readers of the new one.
#[tokio::test]
async fn recreated_group_has_a_higher_epoch() -> anyhow::Result<()> {
    let world = World::redis().await?;
    world.open(Mode::Entry).await?;
    world.append(&["a", "b"]).await?;
    let before = world.join(1).await?;
    let read = world.read(before, 1).await?;
    let group = world.group.as_str();
    command(&world, redis::cmd("XGROUP").arg("DESTROY").arg(log(&world)).arg(group)).await?;
    let reply = world.streams.read(&world.partition, &world.group, before, 1, LEASE_MS).await?;
    assert_eq!(reply, Reply::Missing);
    let spec = GroupSpec { name: world.group.clone(), position: Position::After(EntryId::MIN), mode: Mode::Entry };
    let opened = world.streams.open(&world.partition, &[spec], EntryId::MIN).await?;
    assert_eq!(opened, [Opened::Created]);
    let after = world.join(1).await?;
    assert!(after.epoch > before.epoch, "{} follows {}", after.epoch, before.epoch);
    assert_eq!(world.read(after, 1).await?, read);
    Ok(())
}

/// A flush removes everything: calls report it, and `open` makes the partition usable again.
#[tokio::test]
async fn lost_partition_is_reported_until_it_is_opened() -> anyhow::Result<()> {
    let world = World::redis().await?;
    world.open(Mode::Partition).await?;
    let appended = world.append(&["a"]).await?;
    let (before, _) = world.own(1).await?;
    let tag = world.partition.tag();
    let keys = redis::cmd("DEL").arg(log(&world)).arg(format!("{tag}:g:{}", world.group)).clone();
    command(&world, &keys).await?;
    let reply = world.streams.read(&world.partition, &world.group, before, 1, LEASE_MS).await?;
    assert_eq!(reply, Reply::Missing);
    assert!(world.append(&["b"]).await?.is_empty());
    let spec = GroupSpec { name: world.group.clone(), position: Position::End, mode: Mode::Partition };
    world.streams.open(&world.partition, &[spec], appended[0]).await?;
    let (after, pending) = world.own(1).await?;
    assert_eq!(pending, []);
    let appended = world.append(&["b"]).await?;
    assert_eq!(ids(&world.read(after, 9).await?), appended);
    Ok(())
}

/// (S9) Another program has trimmed the log: a pending entry that it removed is reported, and does not come back forever.
#[tokio::test]
async fn deleted_pending_entries_are_reported_as_lost() -> anyhow::Result<()> {
    let world = World::redis().await?;
    world.open(Mode::Entry).await?;
    let appended = world.append(&["a", "b"]).await?;
    let reader = world.join(1).await?;
    world.read(reader, 2).await?;
    command(&world, redis::cmd("XDEL").arg(log(&world)).arg(appended[0].to_string())).await?;
    world.time.advance(LEASE_MS).await?;
    let read = world.look(reader, 2).await?;
    assert_eq!((ids(&read.entries), read.lost), (vec![appended[1]], vec![appended[0]]));
    assert_eq!(world.stats().await?.pending, 1);
    command(&world, redis::cmd("XDEL").arg(log(&world)).arg(appended[1].to_string())).await?;
    let taken = world.take_over(reader, EntryId::MIN).await?;
    assert_eq!((taken.entries, taken.lost), (vec![], vec![appended[1]]));
    assert_eq!(world.stats().await?.pending, 0);
    Ok(())
}

/// (T6) A consumer group that another program has made on the log holds the log back, too.
#[tokio::test]
async fn trim_keeps_what_other_groups_have_not_read() -> anyhow::Result<()> {
    let world = World::redis().await?;
    world.open(Mode::Entry).await?;
    world.append(&["a"]).await?;
    world.time.advance(1).await?;
    let reader = world.join(1).await?;
    let read = world.read(reader, 1).await?;
    world.settle(reader, delivery(&read[0]), Outcome::Done).await?;
    command(&world, redis::cmd("XGROUP").arg("CREATE").arg(log(&world)).arg("theirs").arg("0")).await?;
    assert_eq!(world.trim(&[], 0).await?, Trimmed::Removed { entries: 0, more: false });
    command(&world, redis::cmd("XGROUP").arg("DESTROY").arg(log(&world)).arg("theirs")).await?;
    assert_eq!(world.trim(&[], 0).await?, Trimmed::Removed { entries: 1, more: false });
    Ok(())
}

/// A consumer group that another program has made is not taken for one of ours: its pending entries have no leases.
#[tokio::test]
async fn group_of_another_program_is_refused() -> anyhow::Result<()> {
    let world = World::redis().await?;
    world.streams.open(&world.partition, &[], EntryId::MIN).await?;
    let group = world.group.as_str();
    command(&world, redis::cmd("XGROUP").arg("CREATE").arg(log(&world)).arg(group).arg("0")).await?;
    let spec = GroupSpec { name: world.group.clone(), position: Position::End, mode: Mode::Entry };
    let opened = world.streams.open(&world.partition, &[spec], EntryId::MIN).await?;
    assert_eq!(opened, [Opened::Refused]);
    Ok(())
}
