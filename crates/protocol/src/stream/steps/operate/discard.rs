//! [`Discard`]: dead letters are deleted.

use crate::stream::steps::Reader;
use crate::stream::steps::prelude::*;

/// Deletes dead letters; a key is no longer parked when its last one is deleted.
#[derive(Clone, Debug)]
pub struct Discard {
    /// The group.
    pub group: GroupName,
    /// With a reader only while it is current: the owner of the partition has replayed them.
    pub reader: Option<Reader>,
    /// The letters.
    pub letters: Vec<EntryId>,
}

impl Discard {
    fn call_for(&self, letters: &[EntryId]) -> Call {
        let args = Args::of(&self.group);
        let args = match self.reader {
            Some(reader) => args.reader(reader),
            None => args.bytes("").bytes("").bytes(""),
        };
        Call::function(&scripts::DISCARD, args.ids(letters))
    }
}

impl Step<Partition> for Discard {
    type Reply = Reply<Vec<bool>>;

    fn check(&self) -> Checked {
        check::items(self.letters.len())
    }

    fn call(&self, _: &Partition) -> Call {
        self.call_for(&self.letters)
    }

    fn reply(&self, value: Value) -> Replied<Reply<Vec<bool>>> {
        wire::flags(value)
    }

    fn apply(&self, state: &mut PartitionState, _: u64) -> Replied<Reply<Vec<bool>>> {
        let Some(reader) = self.reader else {
            return Ok(Reply::Done(match state.groups.get_mut(&self.group) {
                Some(group) => group.discard(&self.letters),
                None => vec![false; self.letters.len()],
            }));
        };
        state.by_reader(&self.group, reader, |group, _, _| Reply::Done(group.discard(&self.letters)))
    }

    /// In as many calls as the script, which ends early, requires.
    async fn send(&self, redis: &Redis<Partition>, partition: &Partition) -> Replied<Reply<Vec<bool>>> {
        let mut flags = Vec::with_capacity(self.letters.len());
        loop {
            let rest = self.call_for(&self.letters[flags.len()..]);
            let some = match self.reply(redis.call(partition, rest).await?)? {
                Reply::Done(some) => some,
                refused => return Ok(refused),
            };
            let is_over = some.is_empty();
            flags.extend(some);
            if is_over || flags.len() >= self.letters.len() {
                return Ok(Reply::Done(flags));
            }
        }
    }
}

impl Group {
    fn discard(&mut self, letters: &[EntryId]) -> Vec<bool> {
        let mut discard = |id: &EntryId| {
            let Some(letter) = self.dead.remove(id) else { return false };
            if letter.parks_key {
                let left = self.parked.get(&letter.key).copied().unwrap_or(0) - 1;
                if left > 0 {
                    self.parked.insert(letter.key, left);
                } else {
                    self.parked.remove(&letter.key);
                }
            }
            true
        };
        letters.iter().map(&mut discard).collect()
    }
}
