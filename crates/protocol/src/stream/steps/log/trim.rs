//! [`Trim`]: the begin of the log is removed.

use crate::stream::steps::prelude::*;

/// Removes entries that every group has settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trim {
    /// The registered groups.
    pub groups: Vec<GroupName>,
    /// Entries are kept for at least this long, for replays.
    pub retain_ms: u64,
    /// The maximum number of entries to remove.
    pub limit: usize,
}

/// The reply to a [`Trim`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trimmed {
    /// So many entries were removed.
    Removed {
        /// The number.
        entries: u64,
        /// Whether another call would remove more.
        more: bool,
    },
    /// The partition does not have this registered group. Nothing was removed.
    GroupMissing(GroupName),
    /// There is no such partition.
    Missing,
}

impl Step<Partition> for Trim {
    type Reply = Trimmed;

    fn check(&self) -> Checked {
        check::page(self.limit)?;
        check::items(self.groups.len())?;
        check::span(self.retain_ms)
    }

    fn call(&self, _: &Partition) -> Call {
        let args = Args::default().number(self.retain_ms).size(self.limit);
        Call::function(&scripts::TRIM, self.groups.iter().fold(args, |args, group| args.bytes(group.as_str())))
    }

    fn reply(&self, value: Value) -> Replied<Trimmed> {
        let mut parts = Parts::of(value)?;
        match parts.number()? {
            0 => Ok(Trimmed::Missing),
            1 => Ok(Trimmed::Removed { entries: parts.number()?, more: parts.number()? == 1 }),
            2 => GroupName::new(&parts.text()?).map(Trimmed::GroupMissing),
            _ => Err(wire::unexpected("trim")),
        }
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Trimmed> {
        let Some(log) = &mut state.log else { return Ok(Trimmed::Missing) };
        if let Some(missing) = self.groups.iter().find(|name| !state.groups.contains_key(*name)) {
            return Ok(Trimmed::GroupMissing(missing.clone()));
        }
        let mut below = EntryId::at(now.saturating_sub(self.retain_ms));
        for group in state.groups.values() {
            let oldest = group.pending.first_key_value().map(|(id, _)| *id);
            below = below.min(group.position.next()).min(oldest.unwrap_or(below));
        }
        let mut page: Vec<EntryId> = log.entries.range(..below).map(|(id, _)| *id).take(self.limit + 1).collect();
        let more = page.len() > self.limit;
        page.truncate(self.limit);
        page.iter().for_each(|id| drop(log.entries.remove(id)));
        Ok(Trimmed::Removed { entries: page.len() as u64, more })
    }
}
