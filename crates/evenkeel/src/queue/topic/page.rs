//! Looking through the jobs of a topic, page by page.

use super::Topic;
#[cfg(feature = "sql")]
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{Job, JobId, Priority};
use evenkeel_protocol::queue::record::Unreadable;
use evenkeel_protocol::queue::steps::{Found, ITEMS_MAX, Listed, Shard, State};

/// Where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Jobs that wait, by due time, whatever their priority.
    Waiting,
    /// Jobs that run, by the end of their lease.
    Leased,
    /// Dead letters, by time of death.
    Dead,
}

impl Place {
    pub(super) fn states(self) -> Vec<State> {
        match self {
            Self::Waiting => Priority::ALL.map(State::Waiting).to_vec(),
            Self::Leased => vec![State::Leased],
            Self::Dead => vec![State::Dead],
        }
    }
}

/// Jobs of one page.
#[derive(Clone, Debug)]
pub struct Page {
    /// What there is; a job that left the place while the page was made is not in it.
    pub jobs: Vec<Seen>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Listed>,
}

/// One job of a page.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its id.
    pub id: JobId,
    /// Where it is. (Of a waiting job that cannot be read, the priority is not known, and `Urgent` stands here.)
    pub state: State,
    /// Due time, deadline on the lease clock, or time of death.
    pub score: u64,
    /// Everything about it, unless its record cannot be read by this program.
    pub job: Result<Box<Job>, Unreadable>,
}

impl Topic {
    /// Up to `limit` ids (at most 500) of all shards, by time and then by id, after a cursor: the last one of the page before.
    /// Jobs that come and go meanwhile do not make a page skip or repeat others.
    ///
    /// Of a topic with rows, what waits includes jobs that only their rows know, such as those beyond the horizon, and so do dead letters
    /// that the store has just lost. Such a page reads rows from an index, in its order, as many as it needs.
    ///
    /// # Errors
    /// [`QueueError::TooMany`], [`QueueError::Invalid`] (a limit of 0), [`QueueError::Link`], [`QueueError::Database`].
    pub async fn list(&self, place: Place, after: Option<Listed>, limit: usize) -> Result<Vec<Listed>, QueueError> {
        let in_store = self.list_of_store(place, after, limit).await?;
        #[cfg(feature = "sql")]
        if let Some(judge) = self.judge.as_ref().filter(|_| place != Place::Leased && guard("sql_lists_rows")) {
            return judge.merged(place == Place::Dead, in_store, after, limit).await;
        }
        Ok(in_store)
    }

    /// The same of what the store has.
    pub(super) async fn list_of_store(
        &self,
        place: Place,
        after: Option<Listed>,
        limit: usize,
    ) -> Result<Vec<Listed>, QueueError> {
        let mut all = Vec::new();
        for shard in self.router.look().await?.iter() {
            for state in place.states() {
                all.extend(self.store.list(shard, state, after, limit).await?);
            }
        }
        all.sort_unstable_by_key(|listed| (listed.score, listed.id));
        all.truncate(limit);
        Ok(all)
    }

    /// The same page with everything about its jobs. Bodies are read whole, so keep pages of large ones small.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn peek(&self, place: Place, after: Option<Listed>, limit: usize) -> Result<Page, QueueError> {
        let listed = self.list(place, after, limit).await?;
        let jobs = self.seen(place, &listed).await?;
        let next = if listed.len() < limit { None } else { listed.last().copied() };
        Ok(Page { jobs, next })
    }

    /// Everything about those of the listed that are still there.
    pub(super) async fn seen(&self, place: Place, listed: &[Listed]) -> Result<Vec<Seen>, QueueError> {
        debug_assert!(listed.len() <= ITEMS_MAX, "a page is one call a shard");
        let ids: Vec<JobId> = listed.iter().map(|listed| listed.id).collect();
        let ask = |shard: Shard, ids: Vec<JobId>| async move { self.store.jobs(&shard, &ids).await };
        let answers = self.router.route(&ids, |id| *id, ask, |looked| matches!(looked, Ok(None))).await?;
        #[cfg(feature = "sql")]
        let answers = self.seen_in_rows(place, &ids, answers).await?;
        let states = place.states();
        let seen = listed.iter().zip(answers).filter_map(|(listed, looked)| match looked {
            Ok(Some(Found::Live { state, score, job })) => {
                states.contains(&state).then_some(Seen { id: listed.id, state, score, job: Ok(job) })
            }
            Ok(_) => None,
            Err(unreadable) => {
                let Listed { id, score } = *listed;
                Some(Seen { id, state: states[0], score, job: Err(unreadable) })
            }
        });
        Ok(seen.collect())
    }

    /// The same, with what only rows know.
    #[cfg(feature = "sql")]
    async fn seen_in_rows(
        &self,
        place: Place,
        ids: &[JobId],
        answers: Vec<evenkeel_protocol::queue::steps::Looked>,
    ) -> Result<Vec<evenkeel_protocol::queue::steps::Looked>, QueueError> {
        let Some(judge) = &self.judge else { return Ok(answers) };
        let mut all = Vec::with_capacity(answers.len());
        let states = place.states();
        for (id, looked) in ids.iter().zip(answers) {
            all.push(match looked {
                Ok(Some(Found::Live { state, score, job })) if states.contains(&state) => {
                    Ok(Some(Found::Live { state, score, job }))
                }
                Ok(found) if place != Place::Leased => Ok(judge.find(*id, found).await?),
                looked => looked,
            });
        }
        Ok(all)
    }
}
