//! Creates a registered stream, and creates it again after Redis has lost it. The database goes first: once the partitions exist, other
//! programs append to them, and the relay must send the kept entries again before anything that it has not sent.

use super::{GroupRow, StreamTable, ask};
use crate::stream::base::Base;
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::{GroupName, Partition};
use evenkeel_protocol::stream::register::StreamRecord;
use evenkeel_protocol::stream::steps::{Append, GroupSpec, Mode, Open, Position, ReadStats, Reply, SPAN_MS_MAX};
use metrics::counter;
use std::sync::Arc;

/// The partitions that Redis rejects, with the errors. They stay as they are, and stop no other.
type Rejected<'a> = Vec<(&'a Partition, StreamError)>;

/// Creates a partition that Redis has lost, and everything else that it has lost of the stream, unless another task or process has. An error
/// of another partition is that of its own callers.
pub(crate) async fn create_again(
    base: &Base,
    table: &dyn StreamTable,
    partition: &Partition,
) -> Result<(), StreamError> {
    let _recovery = base.streams.databases.recovery.lock().await;
    let rejected = match lost(base, table).await? {
        Some(incarnation) => begin_again(base, table, incarnation).await?,
        None if exists(base, table, partition).await? => return Ok(()),
        None => {
            let incarnation = ask(table.incarnation(&base.topic())).await?.unwrap_or_default();
            begin_again(base, table, incarnation).await?
        }
    };
    rejected.into_iter().find(|(place, _)| *place == partition).map_or(Ok(()), |(_, error)| Err(error))
}

/// Creates the stream, unless Redis has this incarnation of it.
pub(crate) async fn ensure_created(base: &Base, table: &dyn StreamTable) -> Result<(), StreamError> {
    let _recovery = base.streams.databases.recovery.lock().await;
    let Some(incarnation) = lost(base, table).await? else { return Ok(()) };
    let rejected = begin_again(base, table, incarnation).await?;
    rejected.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
}

/// The incarnation that the database has, if Redis has another one or none.
async fn lost(base: &Base, table: &dyn StreamTable) -> Result<Option<u64>, StreamError> {
    let incarnation = ask(table.incarnation(&base.topic())).await?;
    let held = base.store.register().get(&base.name).await?.and_then(|record| record.incarnation);
    let is_current = incarnation.is_some() && held == incarnation;
    Ok(if is_current { None } else { Some(incarnation.unwrap_or_default()) })
}

/// Whether Redis has a partition and all its registered groups. A log with a group that cannot be created is an error: no new incarnation
/// would change that, and each would send the entries of all partitions again.
async fn exists(base: &Base, table: &dyn StreamTable, partition: &Partition) -> Result<bool, StreamError> {
    // Appends nothing; the reply says whether there is a log.
    let nothing = Append { entries: Vec::new(), entries_max: None, producer_window_ms: SPAN_MS_MAX };
    if base.store.run(partition, &nothing).await?.is_none() || !guard("stream_partition_recovered_once") {
        return Ok(false);
    }
    let groups = ask(table.groups(&base.topic())).await?;
    for row in groups.iter().filter(|row| base.partitions.get(usize::from(row.partition)) == Some(partition)) {
        if !matches!(base.store.run(partition, &ReadStats { group: row.group.clone() }).await?, Reply::Done(_)) {
            open_one(base, partition, &groups).await?;
            return Ok(false);
        }
    }
    Ok(true)
}

/// Begins the incarnation after this one, unless another program has, and creates what is missing.
async fn begin_again<'a>(
    base: &'a Base,
    table: &dyn StreamTable,
    incarnation: u64,
) -> Result<Rejected<'a>, StreamError> {
    let topic = base.topic();
    if !guard("stream_database_first") {
        for partition in &base.partitions {
            base.store.run(partition, &Open { groups: Vec::new(), last: EntryId::MIN }).await?;
        }
    }
    let loss = ask(table.begin_again(&topic, incarnation)).await?;
    let rejected = open_all(base, table).await?;
    // Last: without it, the next program that looks does all of this again. Never an older incarnation than the database has by now.
    let mut written = None;
    loop {
        let current = ask(table.incarnation(&topic)).await?;
        if current == written {
            break;
        }
        let record = StreamRecord { incarnation: current, ..base.record.clone() };
        base.store.register().replace(&base.name, &record).await?;
        written = current;
    }
    if let Some(loss) = loss.filter(|loss| loss.incarnation > 1) {
        let name = || Arc::clone(&base.name);
        tracing::warn!(
            stream = %base.name,
            incarnation = loss.incarnation, sent_again = loss.sent_again, unsettled = loss.unsettled,
            dead_letters = loss.dead_letters,
            "Redis had lost the stream, or a part of it (was it flushed?), which has been created again; the relay sends entries of units of work \
             again; unsettled entries that were appended without a unit of work are lost, and so are dead letters"
        );
        counter!("evenkeel_stream_recreated_total", "stream" => name()).increment(base.partitions.len() as u64);
        counter!("evenkeel_stream_sent_again_total", "stream" => name()).increment(loss.sent_again);
        counter!("evenkeel_stream_unsettled_at_loss_total", "stream" => name()).increment(loss.unsettled);
        counter!("evenkeel_stream_dead_letters_lost_total", "stream" => name()).increment(loss.dead_letters);
    }
    Ok(rejected)
}

/// Creates all partitions with their groups, where they are missing, and returns those that Redis rejects.
async fn open_all<'a>(base: &'a Base, table: &dyn StreamTable) -> Result<Rejected<'a>, StreamError> {
    let register = base.store.register();
    register.register(&base.name, &base.record).await?;
    let rows = ask(table.groups(&base.topic())).await?;
    for row in rows.iter().filter(|row| row.partition == 0) {
        register.add_group(&base.name, &row.group, row.mode).await?;
    }
    let mut rejected = Vec::new();
    for partition in &base.partitions {
        match open_one(base, partition, &rows).await {
            Err(error) if !error.is_retryable() => rejected.push((partition, error)),
            opened => opened?,
        }
    }
    Ok(rejected)
}

/// Creates a partition with the registered groups, each after its checkpoint in `rows`, where they are missing. Ids go on above every
/// checkpoint of the partition: on a server whose clock is behind, new entries would otherwise lie before the groups' positions.
async fn open_one(base: &Base, partition: &Partition, rows: &[GroupRow]) -> Result<(), StreamError> {
    let here = || rows.iter().filter(|row| base.partitions.get(usize::from(row.partition)) == Some(partition));
    let spec = |(name, mode): (GroupName, Mode)| {
        let checkpoint = here().find(|row| row.group == name).map_or(EntryId::MIN, |row| row.checkpoint);
        GroupSpec { name, position: Position::After(checkpoint), mode }
    };
    let known = base.store.register().groups(&base.name).await?.found;
    let specs: Vec<GroupSpec> = known.into_iter().map(spec).collect();
    // The first id of the next ms: the one before a pending entry may have the highest possible number.
    let last = here().map(|row| row.checkpoint).max().filter(|last| *last != EntryId::MIN);
    let last =
        last.filter(|_| guard("stream_ids_above_checkpoints")).map_or(EntryId::MIN, |last| EntryId::at(last.ms + 1));
    base.open_again(partition, &specs, last).await
}
