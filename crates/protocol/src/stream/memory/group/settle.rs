//! How deliveries end, and which of them are current.

use super::{Group, Name};
use crate::stream::id::EntryId;
use crate::stream::memory::log::{Log, next_id};
use crate::stream::steps::{DeadLetter, Delivery, Heartbeat, Mode, Outcome, Settlement, Verdict};
use crate::stream::tries::NoteKind;
use bytes::Bytes;

impl Group {
    /// `Settled` if the delivery is current.
    fn state_of(&self, delivery: Delivery, me: &Name) -> Verdict {
        match self.pending.get(&delivery.id) {
            None => Verdict::AlreadySettled,
            Some(held) if held.owner != *me || held.count != delivery.count => Verdict::Stale,
            Some(_) if self.due.get(&delivery.id).is_some() => Verdict::AlreadySettled,
            Some(_) => Verdict::Settled,
        }
    }

    pub(in crate::stream::memory) fn settle(
        &mut self,
        now: u64,
        log: &Log,
        me: &Name,
        settlements: &[Settlement],
    ) -> Vec<Verdict> {
        let mut settle = |settlement: &Settlement| {
            let delivery = settlement.delivery;
            let verdict = self.state_of(delivery, me);
            if verdict == Verdict::Settled {
                match &settlement.outcome {
                    Outcome::Done => self.finish(delivery.id),
                    Outcome::Retry { delay_ms, error } => self.wait(now, delivery, *delay_ms, Some(error)),
                    Outcome::Snooze { delay_ms } => self.wait(now, delivery, *delay_ms, None),
                    Outcome::Dead { reason, parks_key } => self.die(now, log, delivery, reason, *parks_key),
                }
            }
            verdict
        };
        settlements.iter().map(&mut settle).collect()
    }

    pub(super) fn finish(&mut self, id: EntryId) {
        self.pending.remove(&id);
        self.due.remove(&id);
        self.leased.remove(&id);
        self.tries.remove(&id);
    }

    fn wait(&mut self, now: u64, delivery: Delivery, delay_ms: u64, error: Option<&Bytes>) {
        let tries = self.tries.entry(delivery.id).or_default();
        tries.outcome_at = delivery.count;
        if let Some(error) = error {
            tries.errors = tries.errors.saturating_add(1);
            tries.note(now, NoteKind::Failed, error);
        }
        self.leased.remove(&delivery.id);
        self.due.set(&delivery.id, now + delay_ms);
    }

    fn die(&mut self, now: u64, log: &Log, delivery: Delivery, reason: &Bytes, parks_key: bool) {
        let mut tries = self.tries.remove(&delivery.id).unwrap_or_default();
        tries.errors = tries.errors.saturating_add(1);
        tries.outcome_at = delivery.count;
        tries.note(now, NoteKind::Dead, reason);
        let (key, record, origin) = log.entries.get(&delivery.id).map_or_else(Default::default, |entry| {
            let origin = entry.sent_back.as_ref().map(|(_, origin)| *origin);
            (entry.key.clone(), entry.record.clone(), origin)
        });
        self.dead_last = next_id(self.dead_last, now);
        if parks_key {
            *self.parked.entry(key.clone()).or_default() += 1;
        }
        let (id, origin) = (self.dead_last, origin.unwrap_or(delivery.id));
        self.dead.insert(id, DeadLetter { id, origin, parks_key, tries: Some(tries), key, record });
        self.finish(delivery.id);
    }

    pub(in crate::stream::memory) fn heartbeat(
        &mut self,
        now: u64,
        me: &Name,
        lease_ms: u64,
        heartbeats: &[Heartbeat],
    ) -> Vec<bool> {
        let lease_now = self.lease_clock(now);
        let ends = lease_now + lease_ms;
        if self.mode == Mode::Partition
            && let Some((_, until)) = &mut self.owner
        {
            *until = ends.max(*until);
        }
        self.consumers.set(me, lease_now);
        let mut heartbeat = |heartbeat: &Heartbeat| {
            let id = heartbeat.delivery.id;
            let is_current = self.state_of(heartbeat.delivery, me) == Verdict::Settled;
            if is_current && self.mode == Mode::Entry {
                self.leased.set(&id, self.leased.get(&id).map_or(ends, |until| until.max(ends)));
            }
            if is_current && heartbeat.alone {
                self.tries.entry(id).or_default().alone_at = heartbeat.delivery.count;
            } else if is_current
                && let Some(tries) = self.tries.get_mut(&id)
                && tries.alone_at == heartbeat.delivery.count
            {
                tries.alone_at = 0;
            }
            is_current
        };
        heartbeats.iter().map(&mut heartbeat).collect()
    }
}
