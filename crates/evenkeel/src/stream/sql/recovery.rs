//! Creates a registered stream, and creates it again after Redis has lost it. The database goes first: once the partitions exist, other
//! programs append to them, and the relay must send the kept entries again before anything that it has not sent.

use super::{StreamTable, ask};
use crate::stream::base::Base;
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::Partition;
use evenkeel_protocol::stream::register::StreamRecord;
use evenkeel_protocol::stream::steps::{GroupSpec, Position, Reply};
use metrics::counter;
use std::sync::Arc;

/// Creates a partition that Redis has lost, and everything else that it has lost of the stream, unless another task or process has.
pub(crate) async fn create_again(
    base: &Base,
    table: &dyn StreamTable,
    partition: &Partition,
) -> Result<(), StreamError> {
    let _recovery = base.streams.databases.recovery.lock().await;
    if is_current(base, table).await? && has_groups(base, table, partition).await? {
        return Ok(());
    }
    begin_again(base, table).await
}

/// Creates the stream, unless Redis has this incarnation of it.
pub(crate) async fn ensure_created(base: &Base, table: &dyn StreamTable) -> Result<(), StreamError> {
    let _recovery = base.streams.databases.recovery.lock().await;
    if is_current(base, table).await? { Ok(()) } else { begin_again(base, table).await }
}

/// Whether Redis has the incarnation that the database has.
async fn is_current(base: &Base, table: &dyn StreamTable) -> Result<bool, StreamError> {
    let incarnation = ask(table.incarnation(&base.topic())).await?;
    let record = base.store.register().get(&base.name).await?;
    Ok(incarnation.is_some() && record.and_then(|record| record.incarnation) == incarnation)
}

/// Whether a partition has all registered groups. Without any it is unknown whether the partition exists.
async fn has_groups(base: &Base, table: &dyn StreamTable, partition: &Partition) -> Result<bool, StreamError> {
    let groups = ask(table.groups(&base.topic())).await?;
    let here = groups.iter().filter(|row| base.partitions.get(usize::from(row.partition)) == Some(partition));
    let mut is_there = false;
    for row in here {
        is_there = matches!(base.store.stats(partition, &row.group).await?, Reply::Done(_));
        if !is_there {
            break;
        }
    }
    Ok(is_there)
}

async fn begin_again(base: &Base, table: &dyn StreamTable) -> Result<(), StreamError> {
    let topic = base.topic();
    if !guard("stream_database_first") {
        for partition in &base.partitions {
            base.store.open(partition, &[], EntryId::MIN).await?;
        }
    }
    let loss = ask(table.begin_again(&topic)).await?;
    open_all(base, table).await?;
    // Last: without it, the next program that looks does all of this again.
    let record = StreamRecord { incarnation: Some(loss.incarnation), ..base.record.clone() };
    base.store.register().replace(&base.name, &record).await?;
    if loss.incarnation > 1 {
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
    Ok(())
}

/// Creates all partitions with their groups, where they are missing. Ids go on above every checkpoint of the partition: on a server whose
/// clock is behind, new entries would otherwise lie before the groups' positions.
async fn open_all(base: &Base, table: &dyn StreamTable) -> Result<(), StreamError> {
    let register = base.store.register();
    register.register(&base.name, &base.record).await?;
    let rows = ask(table.groups(&base.topic())).await?;
    for row in rows.iter().filter(|row| row.partition == 0) {
        register.add_group(&base.name, &row.group, row.mode).await?;
    }
    let known = register.groups(&base.name).await?;
    for (number, partition) in (0_u16..).zip(&base.partitions) {
        let here = || rows.iter().filter(|row| row.partition == number);
        let spec = |(name, mode): &(_, _)| {
            let checkpoint = here().find(|row| row.group == *name).map_or(EntryId::MIN, |row| row.checkpoint);
            GroupSpec { name: Clone::clone(name), position: Position::After(checkpoint), mode: *mode }
        };
        let specs: Vec<GroupSpec> = known.iter().map(spec).collect();
        let last = here().map(|row| row.checkpoint).max().unwrap_or(EntryId::MIN);
        let last = if guard("stream_ids_above_checkpoints") { last } else { EntryId::MIN };
        base.store.open(partition, &specs, last).await?;
    }
    Ok(())
}
