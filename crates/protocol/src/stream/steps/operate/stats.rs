//! [`ReadStats`]: the state of a group.

use crate::stream::steps::Mode;
use crate::stream::steps::prelude::*;

/// Reads the state of a group.
#[derive(Clone, Debug)]
pub struct ReadStats {
    /// The group.
    pub group: GroupName,
}

/// The state of a group in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupStats {
    /// The server's time.
    pub now: u64,
    /// The epoch: seeks and recoveries raise it.
    pub epoch: u64,
    /// How entries are leased.
    pub mode: Mode,
    /// Entries in the log.
    pub length: u64,
    /// The last entry of the log.
    pub tail: EntryId,
    /// The last entry that was delivered, or where the group began.
    pub position: EntryId,
    /// The first entry after the position: its time says how late the group is.
    pub unread: Option<EntryId>,
    /// Entries after the position, also those that were sent back to other groups. `None` where the server does not know their number: after
    /// a seek into the middle of the log, until the group has read its end.
    pub unread_entries: Option<u64>,
    /// Delivered entries without a final outcome.
    pub pending: u64,
    /// The oldest of them.
    pub oldest_pending: Option<EntryId>,
    /// Pending entries that wait for their next delivery.
    pub delayed: u64,
    /// Dead letters.
    pub dead: u64,
    /// Keys whose later entries become dead letters, too.
    pub parked_keys: u64,
    /// The owner of the partition, its fencing token and its remaining lease.
    pub owner: Option<(Token, u64, u64)>,
    /// Until when the group is paused; `u64::MAX` until it is resumed.
    pub paused_until: Option<u64>,
    /// The time since the last call of a consumer, in ms; 0 while an entry is leased. `None`: no consumer is known.
    pub silent_ms: Option<u64>,
}

impl Step<Partition> for ReadStats {
    type Reply = Reply<GroupStats>;

    fn call(&self, _: &Partition) -> Call {
        Call::function(&scripts::STATS, Args::of(&self.group))
    }

    fn reply(&self, value: Value) -> Replied<Reply<GroupStats>> {
        wire::coded(value, |mut parts| {
            let [now, epoch, mode, length] = parts.numbers()?;
            let (tail, position) = (wire::id(parts.take()?)?, wire::id(parts.take()?)?);
            let unread = wire::optional_id(parts.take()?)?;
            let pending = parts.number()?;
            let oldest_pending = wire::optional_id(parts.take()?)?;
            let [delayed, dead, parked_keys] = parts.numbers()?;
            let owner = parts.text()?;
            let [fence, lease_left, paused] = parts.numbers()?;
            let unread_entries = match parts.take()? {
                Value::Int(number) => u64::try_from(number).ok(),
                _ => None,
            };
            let silent_ms = parts.positive()?;
            let mode = if mode == 1 { Mode::Partition } else { Mode::Entry };
            let owner = if owner.is_empty() { None } else { Some((wire::token(owner.as_bytes())?, fence, lease_left)) };
            let paused_until = (paused > 0).then_some(if paused >= FOREVER_MS { u64::MAX } else { paused });
            Ok(GroupStats {
                now,
                epoch,
                mode,
                length,
                tail,
                position,
                unread,
                unread_entries,
                pending,
                oldest_pending,
                delayed,
                dead,
                parked_keys,
                owner,
                paused_until,
                silent_ms,
            })
        })
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Reply<GroupStats>> {
        state.on_group(&self.group, |group, log| {
            let lease_now = now + group.back + group.seen.map_or(0, |seen| seen.saturating_sub(now));
            let is_leased = group.leased.last_time().is_some_and(|ends| ends > lease_now);
            let silent_ms = group.consumers.last_time().map(|seen| lease_now.saturating_sub(seen));
            Reply::Done(GroupStats {
                now,
                epoch: group.epoch,
                mode: group.mode,
                length: log.entries.len() as u64,
                tail: log.tail(),
                position: group.position,
                unread: log.after(group.position).next().map(|(id, _)| id),
                unread_entries: Some(log.after(group.position).count() as u64),
                pending: group.pending.len() as u64,
                oldest_pending: group.pending.first_key_value().map(|(id, _)| *id),
                delayed: group.due.len() as u64,
                dead: group.dead.len() as u64,
                parked_keys: group.parked.len() as u64,
                owner: group.owner.map(|(owner, ends)| (owner, group.fence, ends.saturating_sub(lease_now))),
                paused_until: (group.paused > now).then_some(group.paused),
                silent_ms: if is_leased { Some(0) } else { silent_ms },
            })
        })
    }
}
