//! [`ReadJobs`], [`ReadSomeJobs`]: jobs that are read whole.

use super::{Found, Looked};
use crate::queue::record::Record;
use crate::queue::steps::prelude::*;
use crate::step::SHARED_BYTES_MAX;

/// Reads some jobs. One that cannot be decoded does not affect the others.
#[derive(Clone, Debug)]
pub struct ReadJobs(pub Vec<JobId>);

/// The reply for one id: the job, or the size of a record that did not fit into the reply.
enum Answer {
    Looked(Looked),
    Left(u64),
}

impl Step<Shard> for ReadJobs {
    type Reply = Vec<Looked>;

    fn check(&self) -> Checked {
        check::items(self.0.len())
    }

    fn call(&self, _: &Shard) -> Call {
        call(&self.0, false)
    }

    /// Of a reply with all of them.
    fn reply(&self, value: Value) -> Replied<Vec<Looked>> {
        let whole =
            |answer| if let Answer::Looked(looked) = answer { Ok(looked) } else { Err(wire::unexpected("job")) };
        answers(value)?.into_iter().map(whole).collect()
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<Looked>> {
        Ok(self.0.iter().map(|id| Ok(state.found(now, *id))).collect())
    }

    /// In as many calls as their size requires.
    async fn send(&self, redis: &Redis<Shard>, shard: &Shard) -> Replied<Vec<Looked>> {
        let ids = &self.0;
        let mut found: Vec<Looked> = vec![Ok(None); ids.len()];
        let mut left: Vec<usize> = (0..ids.len()).collect();
        while !left.is_empty() {
            let asked: Vec<JobId> = left.iter().map(|place| ids[*place]).collect();
            let replied = answers(redis.call(shard, call(&asked, false)).await?)?;
            let mut later = Vec::new();
            for (place, answer) in left.into_iter().zip(replied) {
                match answer {
                    Answer::Looked(looked) => found[place] = looked,
                    Answer::Left(size) if size > SHARED_BYTES_MAX as u64 => {
                        let alone = redis.call(shard, call(&[ids[place]], true).large(size)).await?;
                        if let Some(Answer::Looked(looked)) = answers(alone)?.pop() {
                            found[place] = looked;
                        }
                    }
                    Answer::Left(_) => later.push(place),
                }
            }
            left = later;
        }
        Ok(found)
    }
}

/// Reads some jobs in one call: those that fit into a reply of 4 MiB. A record above 1 MiB does not fit; the embedded store, which sends no reply,
/// reads all. `None`: the job was not read.
#[derive(Clone, Debug)]
pub struct ReadSomeJobs(pub Vec<JobId>);

impl Step<Shard> for ReadSomeJobs {
    type Reply = Vec<Option<Looked>>;

    fn check(&self) -> Checked {
        check::items(self.0.len())
    }

    fn call(&self, _: &Shard) -> Call {
        call(&self.0, false)
    }

    fn reply(&self, value: Value) -> Replied<Vec<Option<Looked>>> {
        let read = |answer| if let Answer::Looked(looked) = answer { Some(looked) } else { None };
        Ok(answers(value)?.into_iter().map(read).collect())
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<Option<Looked>>> {
        Ok(self.0.iter().map(|id| Some(Ok(state.found(now, *id)))).collect())
    }
}

/// `whole`: regardless of the size of the reply.
fn call(ids: &[JobId], whole: bool) -> Call {
    Call::function(&scripts::JOB, Args::default().bytes(if whole { "1" } else { "" }).job_ids(ids))
}

fn answers(reply: Value) -> Replied<Vec<Answer>> {
    let answer = |item| match item {
        Value::Int(size) => Ok(Answer::Left(unsigned(&Value::Int(size))?)),
        item => looked(item).map(Answer::Looked),
    };
    array(reply)?.into_iter().map(answer).collect()
}

fn looked(reply: Value) -> Replied<Looked> {
    if reply == Value::Nil {
        return Ok(Ok(None));
    }
    let [raw, index, score] = wire::parts(reply)?;
    Ok(match Record::decode(&bulk(raw)?) {
        Err(unreadable) => Err(unreadable),
        Ok(Record::Ended(completion)) => Ok(Some(Found::Ended(completion))),
        Ok(Record::Live(job)) => {
            Ok(Some(Found::Live { state: State::of_index(integer(&index)?)?, score: unsigned(&score)?, job }))
        }
    })
}
