//! [`Heartbeat`]: leases that are extended.

use super::{Receipt, Report, Worker};
use crate::queue::shard::Record;
use crate::queue::steps::prelude::*;

/// Extends the leases of one worker (heartbeat); returns for each delivery whether it is still held.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// The caller.
    pub worker: Worker,
    /// The new duration of the leases from now.
    pub lease_ms: u64,
    /// The deliveries, with a report about each.
    pub deliveries: Vec<(Receipt, Report)>,
}

impl Step<Shard> for Heartbeat {
    type Reply = Vec<bool>;

    fn check(&self) -> Checked {
        check::items(self.deliveries.len())?;
        check::span(self.lease_ms)
    }

    fn call(&self, _: &Shard) -> Call {
        let args = Args::default().bytes(self.worker.0).number(self.lease_ms);
        let args = self.deliveries.iter().fold(args, |args, (receipt, report)| {
            let mut item = receipt.encode();
            item.push(u8::from(report.is_started) + 2 * u8::from(report.is_shielded) + 4 * u8::from(report.is_alone));
            args.bytes(item)
        });
        Call::function(&scripts::HEARTBEAT, args).after(&scripts::TYPES, Args::default())
    }

    fn reply(&self, value: Value) -> Replied<Vec<bool>> {
        wire::flags(value)
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<bool>> {
        let lease_now = state.lease_clock(now);
        state.record_call(self.worker, lease_now);
        let deadline = lease_now + self.lease_ms;
        Ok(self.deliveries.iter().map(|(receipt, report)| state.extend(receipt, *report, deadline)).collect())
    }
}

impl ShardState {
    fn extend(&mut self, receipt: &Receipt, report: Report, until: u64) -> bool {
        if !self.is_current(receipt) {
            return false;
        }
        if let Some(Record::Live { job, score, .. }) = self.records.get_mut(&receipt.id) {
            job.started |= report.is_started;
            (job.shielded, job.alone) = (report.is_shielded, report.is_alone);
            if until > *score {
                self.leased.remove(&(*score, receipt.id));
                self.leased.insert((until, receipt.id));
                *score = until;
            }
        }
        true
    }
}
