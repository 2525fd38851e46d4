//! Registers groups, and stores up to which entry each has settled everything.

use super::table::Placed;
use super::{GroupRow, StreamTable, ask, ensure_created};
use crate::stream::base::Base;
use evenkeel_link::support::{Tried, guard};
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::{GroupName, partition_of};
use evenkeel_protocol::stream::steps::{GroupStats, Mode, ReadStats, Reply};
use std::collections::HashMap;

/// How many keys are placed in one transaction.
const KEYS_MAX: usize = 200;
/// The most transactions of one call; the next call does the rest.
const ROUNDS_MAX: usize = 50;
/// How often a call is repeated during which Redis has lost the stream.
const ATTEMPTS: usize = 4;

/// The last entry up to which a group has settled everything, or has it as a dead letter.
pub(super) fn checkpoint_of(stats: &GroupStats) -> EntryId {
    stats.oldest_pending.map_or(stats.position, EntryId::previous)
}

/// The state of a group.
struct State {
    /// In the partitions that Redis does not reject.
    rows: Vec<GroupRow>,
    /// The tails of these partitions.
    tails: HashMap<u16, EntryId>,
    /// The error of the others.
    tried: Tried<StreamError>,
}

/// The state of a group in each partition; `None` if Redis has lost the group in one of them.
async fn state(base: &Base, group: &GroupName, mode: Mode) -> Result<Option<State>, StreamError> {
    let (mut rows, mut tails) = (Vec::new(), HashMap::new());
    let mut tried = Tried::unless(StreamError::is_retryable);
    for (partition, place) in (0_u16..).zip(&base.partitions) {
        let Some(reply) = tried.note(base.store.run(place, &ReadStats { group: group.clone() }).await)? else {
            continue;
        };
        let Reply::Done(stats) = reply else {
            if tried.note(base.create_again(place).await)?.is_some() {
                return Ok(None);
            }
            continue;
        };
        rows.push(GroupRow {
            group: group.clone(),
            partition,
            mode,
            checkpoint: checkpoint_of(&stats),
            // Where the server does not know the number of unread entries, it is at most the length of the log.
            unsettled: stats.pending + stats.unread_entries.unwrap_or(stats.length),
            dead_letters: stats.dead,
        });
        tails.insert(partition, stats.tail);
    }
    Ok(Some(State { rows, tails, tried }))
}

/// Registers a group that Redis has, in the database in which the stream is registered.
pub(crate) async fn add_group(base: &Base, group: &GroupName, mode: Mode) -> Result<(), StreamError> {
    let Some(table) = base.table().await? else { return Ok(()) };
    let topic = base.topic();
    for _ in 0..ATTEMPTS {
        let incarnation = ask(table.incarnation(&topic)).await?.unwrap_or_default();
        let Some(State { rows, tried, .. }) = state(base, group, mode).await? else { continue };
        // In all partitions or in none: the entries of a partition without a row of the group are not kept for it.
        tried.finish()?;
        if ask(table.add_group(&topic, incarnation, &rows)).await? {
            return Ok(());
        }
    }
    base.refuse(format!("the group {group} could not be registered: Redis has lost it {ATTEMPTS} times meanwhile"))
}

/// Registers the groups that only Redis knows: those from before the stream was registered.
pub(crate) async fn add_known_groups(base: &Base, table: &dyn StreamTable) -> Result<(), StreamError> {
    let rows = ask(table.groups(&base.topic())).await?;
    let known = base.store.register().groups(&base.name).await?.found;
    for (group, mode) in known.into_iter().filter(|(group, _)| rows.iter().all(|row| row.group != *group)) {
        add_group(base, &group, mode).await?;
    }
    Ok(())
}

/// Stores the checkpoints of a group, records after which entries of the log the kept entries cannot lie, and removes those that all groups
/// have settled. Detects that Redis has lost the stream although another program has created it again. A partition that Redis rejects stops
/// no other.
pub(crate) async fn save(base: &Base, group: &GroupName, mode: Mode) -> Result<(), StreamError> {
    for _ in 0..ROUNDS_MAX {
        let Some(table) = base.table().await? else { return Ok(()) };
        let incarnation = ask(table.incarnation(&base.topic())).await?.unwrap_or_default();
        if !save_as_of(base, group, mode, incarnation).await? {
            return Ok(());
        }
    }
    Ok(())
}

/// The same for a process that has read this incarnation; returns whether there is more to do.
async fn save_as_of(base: &Base, group: &GroupName, mode: Mode, incarnation: u64) -> Result<bool, StreamError> {
    let Some(table) = base.table().await? else { return Ok(false) };
    let topic = base.topic();
    // The order matters: Redis had these entries before the tails are read.
    let unplaced = ask(table.unplaced(&topic, KEYS_MAX)).await?;
    let is_full = unplaced.len() == KEYS_MAX;
    let Some(State { rows, tails, tried }) = state(base, group, mode).await? else { return Ok(true) };
    // And Redis still has them if it has this incarnation afterwards.
    let record = base.store.register().get(&base.name).await?;
    if record.and_then(|record| record.incarnation) != Some(incarnation) && guard("stream_incarnation_compared") {
        ensure_created(base, &*table).await?;
        return Ok(true);
    }
    let placed = unplaced.into_iter().filter_map(|entries| {
        let partition = partition_of(entries.key.as_bytes(), base.record.partitions);
        Some(Placed { partition, tail: *tails.get(&partition)?, entries })
    });
    let saved = ask(table.save(&topic, incarnation, &rows, &placed.collect::<Vec<_>>())).await?;
    tried.finish()?;
    Ok(!saved || is_full)
}

/// Stores the state of a group as a process would that was stopped since it has compared the incarnations.
#[cfg(feature = "testing")]
pub(crate) async fn save_late(base: &Base, group: &str, incarnation: u64) -> Result<bool, StreamError> {
    let (Some(table), group) = (base.table().await?, GroupName::new(group)?) else { return Ok(false) };
    let Some(State { rows, .. }) = state(base, &group, Mode::Entry).await? else { return Ok(false) };
    ask(table.save(&base.topic(), incarnation, &rows, &[])).await
}
