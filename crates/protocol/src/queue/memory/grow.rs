//! The steps of a shard migration.

use super::MemoryQueue;
use super::state::ShardState;
use crate::queue::check;
use crate::queue::error::QueueError;
use crate::queue::grow::{Close, GrowSteps, Inherited, Item, SendOutcome, Transfer};
use crate::queue::job::{JobId, Priority};
use crate::queue::record::{Record, encode_completion, encode_job};
use crate::queue::steps::{CLAIM_BYTES_MAX, PIECE_BYTES_MAX, Shard, State};
use async_trait::async_trait;
use bytes::{BufMut, Bytes, BytesMut};
use evenkeel_link::support::guard;

const JOB: u8 = 1;
const SCHEDULE: u8 = 2;
const DEAD: u8 = 5;
const COMPLETION: u8 = 9;

impl ShardState {
    pub(crate) fn numbered(number: u16) -> Self {
        Self { number, ..Self::default() }
    }

    /// The shard to which this id belongs, if it is another one.
    pub(crate) fn elsewhere(&self, id: JobId) -> Option<u16> {
        self.shards.map(|shards| id.shard(shards)).filter(|keeper| *keeper != self.number)
    }

    fn close(&mut self, close: Close) -> Inherited {
        if self.shards.is_none_or(|shards| shards < close.shards) {
            self.shards = Some(close.shards);
            let share = |limit: u64| (limit * u64::from(close.before) / u64::from(close.shards)).max(1);
            match close.inherits {
                Some(inherited) => {
                    self.paused_until = match inherited.paused {
                        0 => None,
                        until => Some(until),
                    };
                    self.limits = inherited.limits;
                    self.fence_floor = inherited.floor;
                }
                None => {
                    self.limits.jobs_max = self.limits.jobs_max.map(share);
                    self.limits.bytes_max = self.limits.bytes_max.map(share);
                }
            }
        }
        Inherited { paused: self.paused_until.unwrap_or(0), limits: self.limits, floor: self.fence_floor }
    }

    fn send_items(&mut self, now: u64, item: Item) -> SendOutcome {
        let id = match item {
            Item::Job(id) => id,
            Item::Schedule(schedule) => JobId(schedule),
        };
        let Some(keeper) = self.elsewhere(id) else { return SendOutcome::No };
        if let Item::Schedule(schedule) = item {
            let Some(last) = self.schedules.remove(&schedule) else { return SendOutcome::No };
            return self.send(keeper, label(SCHEDULE, id, 0, last), Bytes::new());
        }
        match self.live(id).map(|(_, state, score)| (state, score)) {
            Some((State::Leased, _)) => SendOutcome::Leased,
            Some((state, score)) => {
                let Some(job) = self.take(id) else { return SendOutcome::No };
                let place = if let State::Waiting(priority) = state { priority as u8 } else { DEAD };
                self.send(keeper, label(JOB, id, place, score), encode_job(&job))
            }
            None => {
                let Some(completion) = self.completion(id, now) else { return SendOutcome::No };
                self.records.remove(&id);
                self.send(keeper, label(JOB, id, COMPLETION, 0), encode_completion(&completion))
            }
        }
    }

    fn send(&mut self, keeper: u16, label: Bytes, record: Bytes) -> SendOutcome {
        let sequence = self.last_sent.entry(keeper).or_default();
        *sequence += 1;
        self.leaving.entry(keeper).or_default().insert(*sequence, Transfer { sequence: *sequence, label, record });
        SendOutcome::Sent
    }

    fn receive(&mut self, now: u64, from: u16, transfers: &[Transfer]) -> Result<u64, QueueError> {
        let mut last = self.last_received.get(&from).copied().unwrap_or(0);
        for transfer in transfers {
            if transfer.sequence == last + 1 {
                self.receive_one(now, transfer)?;
                last += 1;
            }
        }
        self.last_received.insert(from, last);
        self.announce(now);
        Ok(last)
    }

    fn receive_one(&mut self, now: u64, transfer: &Transfer) -> Result<(), QueueError> {
        let Some((kind, id, place, score)) = read_label(&transfer.label) else {
            return Err(QueueError::Invalid("the label of a migrating item cannot be decoded".to_owned()));
        };
        if kind == SCHEDULE {
            self.schedules.entry(id.0).or_insert(score);
            return Ok(());
        }
        // A job or completion record that this shard already has takes precedence.
        if transfer.record.is_empty() || self.live(id).is_some() || self.completion(id, now).is_some() {
            return Ok(());
        }
        match Record::decode(&transfer.record)? {
            Record::Live(job) => {
                let state = Priority::ALL.get(usize::from(place)).map_or(State::Dead, |at| State::Waiting(*at));
                if state != State::Dead {
                    self.added.insert((usize::from(place), id));
                }
                self.place(id, job, state, score);
            }
            Record::Ended(completion) => self.record_completion(id, completion),
        }
        Ok(())
    }

    fn drop_received(&mut self, to: u16, sequence: u64) -> u64 {
        let leaving = self.leaving.entry(to).or_default();
        *leaving = leaving.split_off(&(sequence + 1));
        u64::try_from(leaving.len()).unwrap_or(u64::MAX)
    }
}

#[async_trait]
impl GrowSteps for MemoryQueue {
    async fn close(&self, shard: &Shard, close: Close) -> Result<Inherited, QueueError> {
        Ok(self.step(shard, |state, _| state.close(close)))
    }

    async fn send_items(&self, shard: &Shard, items: &[Item]) -> Result<Vec<SendOutcome>, QueueError> {
        check::items(items.len())?;
        Ok(self.step(shard, |state, now| items.iter().map(|item| state.send_items(now, *item)).collect()))
    }

    async fn leaving(&self, shard: &Shard, to: u16, limit: usize) -> Result<Vec<Transfer>, QueueError> {
        check::items(limit)?;
        Ok(self.step(shard, |state, now| {
            let waiting = state.leaving.get(&to).into_iter().flat_map(|leaving| leaving.values());
            within_bytes(waiting.take(limit).map(|transfer| without_expired_completion(transfer, now)))
        }))
    }

    async fn receive(&self, shard: &Shard, from: u16, transfers: &[Transfer]) -> Result<u64, QueueError> {
        check::items(transfers.len())?;
        self.step(shard, |state, now| state.receive(now, from, transfers))
    }

    async fn drop_received(&self, shard: &Shard, to: u16, sequence: u64) -> Result<u64, QueueError> {
        Ok(self.step(shard, |state, _| state.drop_received(to, sequence)))
    }

    async fn ids(&self, shard: &Shard, _cursor: u64) -> Result<(Vec<JobId>, u64), QueueError> {
        Ok((self.step(shard, |state, _| state.records.keys().copied().collect()), 0))
    }

    async fn schedules(&self, shard: &Shard) -> Result<Vec<[u8; 16]>, QueueError> {
        Ok(self.step(shard, |state, _| state.schedules.keys().copied().collect()))
    }
}

/// The transfers that fit into one reply: the first regardless of its size, and a large one only alone.
fn within_bytes(transfers: impl Iterator<Item = Transfer>) -> Vec<Transfer> {
    let (mut taken, mut bytes) = (Vec::new(), 0);
    for transfer in transfers {
        let goes_alone = is_large(&transfer) || taken.iter().any(is_large);
        bytes += u64::try_from(transfer.record.len()).unwrap_or(u64::MAX);
        if !taken.is_empty() && (goes_alone || bytes > CLAIM_BYTES_MAX) && guard("model_leaving_bytes") {
            break;
        }
        taken.push(transfer);
    }
    taken
}

fn is_large(transfer: &Transfer) -> bool {
    u64::try_from(transfer.record.len()).unwrap_or(u64::MAX) > PIECE_BYTES_MAX
}

/// Drops the record of a completion record that has expired during the migration.
fn without_expired_completion(transfer: &Transfer, now: u64) -> Transfer {
    let expired = matches!(Record::decode(&transfer.record), Ok(Record::Ended(completion)) if completion.until.is_some_and(|until| until <= now));
    Transfer { record: if expired { Bytes::new() } else { transfer.record.clone() }, ..transfer.clone() }
}

fn label(kind: u8, id: JobId, place: u8, score: u64) -> Bytes {
    let mut out = BytesMut::with_capacity(24);
    out.put_u8(kind);
    out.put_slice(&id.0);
    out.put_u8(place);
    out.put_uint(score, 6);
    out.freeze()
}

fn read_label(label: &[u8]) -> Option<(u8, JobId, u8, u64)> {
    let label: &[u8; 24] = label.try_into().ok()?;
    let id: [u8; 16] = label[1..17].try_into().ok()?;
    let score = label[18..].iter().fold(0, |score, byte| score << 8 | u64::from(*byte));
    Some((label[0], JobId(id), label[17], score))
}
