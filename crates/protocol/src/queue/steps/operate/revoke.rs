//! [`Revoke`]: jobs that must not start.

use crate::queue::job::End;
use crate::queue::steps::prelude::*;

/// Revokes jobs that are not running.
#[derive(Clone, Debug)]
pub struct Revoke(pub Vec<JobId>);

/// The result of a `revoke`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// It was waiting and never starts (again).
    Revoked,
    /// A worker whose lease has expired may have begun to run it; its acks and fenced writes are rejected.
    RevokedAfterLeaseExpiry,
    /// It is running: nothing changed.
    Running,
    /// It is a dead letter: nothing changed.
    Dead,
    /// It had ended before.
    Ended(End),
    /// Never stored, or without a completion record. A job leaves a completion record only if its sender gave it an id or a unique key; a
    /// completed job with a generated id is unknown at once, so this result does not mean that the id is wrong.
    Unknown,
}

impl Step<Shard> for Revoke {
    type Reply = Vec<Revoked>;

    fn check(&self) -> Checked {
        check::items(self.0.len())
    }

    fn call(&self, _: &Shard) -> Call {
        Call::function(&scripts::REVOKE, Args::default().job_ids(&self.0))
    }

    fn reply(&self, value: Value) -> Replied<Vec<Revoked>> {
        let answer = |code: &u8| match code {
            0 => Ok(Revoked::Unknown),
            1 => Ok(Revoked::Revoked),
            2 => Ok(Revoked::RevokedAfterLeaseExpiry),
            3 => Ok(Revoked::Running),
            4 => Ok(Revoked::Dead),
            code => wire::end(code.wrapping_sub(16)).map(Revoked::Ended),
        };
        bulk(value)?.iter().map(answer).collect()
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<Revoked>> {
        let lease_now = state.lease_clock(now);
        Ok(self.0.iter().map(|id| state.revoke_one(now, lease_now, *id)).collect())
    }
}

impl ShardState {
    fn revoke_one(&mut self, now: u64, lease_now: u64, id: JobId) -> Revoked {
        match self.live(id) {
            Some((_, State::Dead, _)) => return Revoked::Dead,
            Some((_, State::Leased, deadline)) if deadline > lease_now => return Revoked::Running,
            Some(_) => {}
            None => {
                return match self.completion(id, now).map(|completion| completion.end) {
                    Some(End::Revoked) => Revoked::Revoked,
                    Some(End::RevokedAfterLeaseExpiry) => Revoked::RevokedAfterLeaseExpiry,
                    Some(end) => Revoked::Ended(end),
                    None => Revoked::Unknown,
                };
            }
        }
        let Some(job) = self.take(id) else { return Revoked::Unknown };
        let lease_expired = job.lease_expired || job.token.is_some();
        self.end(id, &job, if lease_expired { End::RevokedAfterLeaseExpiry } else { End::Revoked }, now);
        if lease_expired { Revoked::RevokedAfterLeaseExpiry } else { Revoked::Revoked }
    }
}
