//! [`ReadHeads`]: jobs' states and versions, without their bodies.

use super::{Found, Looked, ReadJobs};
use crate::queue::job::End;
use crate::queue::steps::prelude::*;

/// Reads the states and versions of some jobs, without their bodies; `None` for an unknown id.
#[derive(Clone, Debug)]
pub struct ReadHeads(pub Vec<JobId>);

/// A job's state, without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// It has not ended.
    Live {
        /// Its state.
        state: State,
        /// Due time, deadline on the lease clock, or time of death.
        score: u64,
        /// The version of its latest `put`; 0 without one.
        version: u64,
        /// Whether a lease of it has expired.
        lease_expired: bool,
    },
    /// It ended and has a completion record.
    Ended {
        /// How it ended.
        end: End,
        /// The version of its latest `put`; 0 without one.
        version: u64,
    },
    /// Its record was written in a format that this program does not support.
    Unreadable,
}

impl Head {
    /// The head of a job that was read whole.
    fn of(looked: Looked) -> Option<Self> {
        match looked {
            Ok(found) => found.map(|found| match found {
                Found::Live { state, score, job } => {
                    let lease_expired = job.lease_expired || state == State::Leased;
                    Self::Live { state, score, version: job.spec.version.unwrap_or(0), lease_expired }
                }
                Found::Ended(completion) => Self::Ended { end: completion.end, version: completion.version },
            }),
            Err(_) => Some(Self::Unreadable),
        }
    }
}

impl Step<Shard> for ReadHeads {
    type Reply = Vec<Option<Head>>;

    fn check(&self) -> Checked {
        check::items(self.0.len())
    }

    fn call(&self, _: &Shard) -> Call {
        Call::function(&scripts::HEADS, Args::default().job_ids(&self.0))
    }

    fn reply(&self, value: Value) -> Replied<Vec<Option<Head>>> {
        array(value)?.into_iter().map(head).collect()
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<Option<Head>>> {
        Ok(self.0.iter().map(|id| Head::of(Ok(state.found(now, *id)))).collect())
    }

    async fn send(&self, redis: &Redis<Shard>, shard: &Shard) -> Replied<Vec<Option<Head>>> {
        if !guard("sql_sweep_heads_only") {
            let looked = ReadJobs(self.0.clone()).send(redis, shard).await?;
            return Ok(looked.into_iter().map(Head::of).collect());
        }
        self.reply(redis.call(shard, self.call(shard)).await?)
    }
}

fn head(reply: Value) -> Replied<Option<Head>> {
    if reply == Value::Nil {
        return Ok(None);
    }
    let unexpected = || wire::unexpected("heads");
    let [index, score, version, lease_expired] = wire::parts(reply)?;
    let lease_expired = integer(&lease_expired)? == 1;
    let (index, score, version) = (integer(&index)?, unsigned(&score)?, bulk(version)?);
    let version = version.as_ref().try_into().map(u64::from_be_bytes).map_err(|_| unexpected())?;
    Ok(Some(match index {
        -1 => {
            let end = u8::try_from(score).ok().and_then(End::from_code).ok_or_else(unexpected)?;
            Head::Ended { end, version }
        }
        -2 => Head::Unreadable,
        index => Head::Live { state: State::of_index(index)?, score, version, lease_expired },
    }))
}
