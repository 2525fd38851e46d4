//! [`Redrive`]: dead letters are handled again.

use crate::step::reply::bulk;
use crate::stream::partition::LogEntry;
use crate::stream::steps::prelude::*;

/// Sends dead letters back to their group, as new entries that no other group gets. `None`: there is no such partition.
#[derive(Clone, Debug)]
pub struct Redrive {
    /// The group.
    pub group: GroupName,
    /// The letters.
    pub letters: Vec<EntryId>,
}

/// What became of a dead letter that was to be handled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redriven {
    /// It is in the log again, for its group only, with this id, and is no longer a dead letter.
    Appended(EntryId),
    /// There is no such dead letter: an earlier call has replayed or removed it.
    Unknown,
    /// Its key is parked (`OnFailure::DeadLetterSequence`): at the end of the log it would be overtaken by later entries of its key. Nothing
    /// changed; remove it once its work was done by other means.
    Parked,
}

impl Step<Partition> for Redrive {
    type Reply = Option<Vec<Redriven>>;

    fn check(&self) -> Checked {
        check::items(self.letters.len())
    }

    fn call(&self, _: &Partition) -> Call {
        call(&self.group, &self.letters)
    }

    fn reply(&self, value: Value) -> Replied<Option<Vec<Redriven>>> {
        if value == Value::Nil {
            return Ok(None);
        }
        let redriven = |item| {
            let text = bulk(item)?;
            Ok(match &text[..] {
                b"" => Redriven::Unknown,
                b"p" => Redriven::Parked,
                id => Redriven::Appended(wire::parse_id(id)?),
            })
        };
        wire::each(value, redriven).map(Some)
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Option<Vec<Redriven>>> {
        state.grows = true;
        let Some(log) = &mut state.log else { return Ok(None) };
        let Some(group) = state.groups.get_mut(&self.group) else {
            return Ok(Some(vec![Redriven::Unknown; self.letters.len()]));
        };
        let mut redrive = |id: &EntryId| {
            let Some(letter) = group.dead.get(id) else { return Redriven::Unknown };
            if group.parked.contains_key(&letter.key) {
                return Redriven::Parked;
            }
            let sent_back = Some((self.group.clone(), letter.origin));
            let entry = LogEntry { key: letter.key.clone(), record: letter.record.clone(), sent_back };
            group.dead.remove(id);
            Redriven::Appended(log.add(now, entry))
        };
        Ok(Some(self.letters.iter().map(&mut redrive).collect()))
    }

    /// In as many calls as the script, which ends early, requires.
    async fn send(&self, redis: &Redis<Partition>, partition: &Partition) -> Replied<Option<Vec<Redriven>>> {
        let mut replies = Vec::with_capacity(self.letters.len());
        loop {
            let rest = call(&self.group, &self.letters[replies.len()..]);
            let Some(some) = self.reply(redis.call(partition, rest).await?)? else { return Ok(None) };
            let is_over = some.is_empty();
            replies.extend(some);
            if is_over || replies.len() >= self.letters.len() {
                return Ok(Some(replies));
            }
        }
    }
}

fn call(group: &GroupName, letters: &[EntryId]) -> Call {
    Call::function(&scripts::REDRIVE, Args::of(group).ids(letters))
}
