//! The calls about jobs that exist, each sent to the shards that have them.

use super::router::Router;
use evenkeel_link::support::Tried;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::{
    Amend, Amended, Delete, Found, Looked, ReadJobs, ReadSomeJobs, Reschedule, Rescheduled, Reschedules, Revoke,
    Revoked, Shard,
};

impl Router {
    pub(crate) async fn revoke(&self, ids: &[JobId]) -> Result<Vec<Revoked>, QueueError> {
        let ask = |shard: Shard, ids: Vec<JobId>| async move { self.store.run(&shard, &Revoke(ids)).await };
        self.route(ids, |id| *id, ask, |answer| *answer == Revoked::Unknown).await
    }

    pub(crate) async fn revoke_one(&self, id: JobId) -> Result<Revoked, QueueError> {
        Ok(self.revoke(&[id]).await?.pop().unwrap_or(Revoked::Unknown))
    }

    pub(crate) async fn reschedule(&self, changes: &[Reschedule]) -> Result<Vec<Rescheduled>, QueueError> {
        let ask =
            |shard: Shard, changes: Vec<Reschedule>| async move { self.store.run(&shard, &Reschedules(changes)).await };
        self.route(changes, |change| change.id, ask, |answer| *answer == Rescheduled::Unknown).await
    }

    pub(crate) async fn reschedule_one(&self, change: Reschedule) -> Result<Rescheduled, QueueError> {
        Ok(self.reschedule(&[change]).await?.pop().unwrap_or(Rescheduled::Unknown))
    }

    /// Replaces the body of a dead letter.
    pub(crate) async fn amend(&self, amend: Amend) -> Result<Amended, QueueError> {
        let ask = |shard: Shard, amends: Vec<Amend>| async move {
            let mut answers = Vec::with_capacity(amends.len());
            for amend in &amends {
                answers.push(self.store.run(&shard, amend).await?);
            }
            Ok(answers)
        };
        let answers = self.route(&[amend], |amend| amend.id, ask, |answer| *answer == Amended::Unknown).await?;
        Ok(answers.first().copied().unwrap_or(Amended::Unknown))
    }

    /// Deletes dead letters; returns for each id whether it was one.
    pub(crate) async fn delete(&self, ids: &[JobId]) -> Result<Vec<bool>, QueueError> {
        let ask = |shard: Shard, ids: Vec<JobId>| async move { self.store.run(&shard, &Delete(ids)).await };
        self.route(ids, |id| *id, ask, |was_dead| !was_dead).await
    }

    /// Reads jobs; `None` for one whose shard rejects the call.
    pub(crate) async fn jobs(
        &self,
        ids: &[JobId],
        tried: &mut Tried<QueueError>,
    ) -> Result<Vec<Option<Looked>>, QueueError> {
        let ask = |shard: Shard, ids: Vec<JobId>| async move { self.store.run(&shard, &ReadJobs(ids)).await };
        self.route_each(ids, |id| *id, ask, |looked| matches!(looked, Ok(None)), tried).await
    }

    /// Those that fit into one reply of each shard; `None`: the job was not read.
    pub(crate) async fn some_jobs(&self, ids: &[JobId]) -> Result<Vec<Option<Looked>>, QueueError> {
        let ask = |shard: Shard, ids: Vec<JobId>| async move { self.store.run(&shard, &ReadSomeJobs(ids)).await };
        self.route(ids, |id| *id, ask, |looked| matches!(looked, Some(Ok(None)))).await
    }

    pub(crate) async fn job(&self, id: JobId) -> Result<Option<Found>, QueueError> {
        let mut found = self.jobs(&[id], &mut Tried::whole()).await?;
        Ok(found.pop().flatten().transpose()?.flatten())
    }
}
