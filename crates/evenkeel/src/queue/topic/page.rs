//! Lists the jobs of a topic, page by page.

use super::Topic;
use evenkeel_link::support::Tried;
#[cfg(feature = "sql")]
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{Job, JobId, Priority};
use evenkeel_protocol::queue::record::Unreadable;
use evenkeel_protocol::queue::steps::{
    Found, ITEMS_MAX, List, Listed, Looked, PREVIEW_BYTES_MAX, Preview, ReadPreviews, Shard, State,
};

/// The state of jobs in a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Waiting jobs of all priorities, by due time.
    Waiting,
    /// Running jobs, by the end of their lease.
    Leased,
    /// Dead letters, by time of death.
    Dead,
}

impl JobState {
    /// The states that such jobs have in the store.
    pub(super) fn states_in_store(self) -> Vec<State> {
        match self {
            Self::Waiting => Priority::ALL.map(State::Waiting).to_vec(),
            Self::Leased => vec![State::Leased],
            Self::Dead => vec![State::Dead],
        }
    }
}

/// One page of jobs.
#[derive(Clone, Debug)]
pub struct Page<J = Seen> {
    /// The jobs; a job that left the state while the page was read is omitted.
    pub jobs: Vec<J>,
    /// The cursor of the next page; `None` after the last one.
    pub next: Option<Listed>,
}

/// One job of a page.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The job's id.
    pub id: JobId,
    /// The job's state. (The priority of a waiting job with an unreadable record is unknown and given as `Urgent`.)
    pub state: State,
    /// Due time, deadline on the lease clock, or time of death.
    pub score: u64,
    /// The job, unless this program cannot read its record.
    pub job: Result<Box<Job>, Unreadable>,
}

/// One page of jobs without most of their bodies.
pub type PreviewPage = Page<Previewed>;

/// One job of a page of previews.
#[derive(Clone, Debug)]
pub struct Previewed {
    /// The job's id, and its position in the page's order.
    pub listed: Listed,
    /// The job with the beginning of its body, unless this program cannot read its record.
    pub preview: Preview,
}

/// Which page of ids.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageOf {
    pub(super) state: JobState,
    /// The cursor.
    pub(super) from: Option<Listed>,
    pub(super) limit: usize,
    pub(super) descends: bool,
}

/// The bytes of a body that a preview has.
const PREVIEW_BYTES: usize = 512;
/// A scan reads no further row after this many bytes of them.
#[cfg(feature = "sql")]
const SCAN_BYTES: usize = 4 << 20;

impl Topic {
    /// Lists up to `limit` ids (at most 500) of all shards, by time and then by id, after a cursor: the last entry of the previous page.
    /// Jobs that enter or leave meanwhile do not make a page skip or repeat others.
    ///
    /// For a topic with rows, waiting jobs include jobs that exist only as rows, such as those beyond the horizon, and dead letters include
    /// those that the store has just lost. Such a page reads rows from an index, in its order, as many as it needs.
    ///
    /// # Errors
    /// [`QueueError::TooMany`], [`QueueError::Invalid`] (a limit of 0), [`QueueError::Link`], [`QueueError::Database`].
    pub async fn list(&self, state: JobState, after: Option<Listed>, limit: usize) -> Result<Vec<Listed>, QueueError> {
        // Without the jobs of one shard, the cursor would skip them.
        self.listed(PageOf { state, from: after, limit, descends: false }, &mut Tried::whole()).await
    }

    /// The same in descending order: up to `limit` ids before a cursor, the newest first.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn newest(
        &self,
        state: JobState,
        before: Option<Listed>,
        limit: usize,
    ) -> Result<Vec<Listed>, QueueError> {
        self.listed(PageOf { state, from: before, limit, descends: true }, &mut Tried::whole()).await
    }

    /// A page of the shards whose errors `tried` keeps, and of all others.
    pub(super) async fn listed(&self, page: PageOf, tried: &mut Tried<QueueError>) -> Result<Vec<Listed>, QueueError> {
        let in_store = self.list_of_store(page, tried).await?;
        #[cfg(feature = "sql")]
        if let Some(rows) = self.rows.as_ref().filter(|_| page.state != JobState::Leased && guard("sql_lists_rows")) {
            let PageOf { state, from, limit, descends } = page;
            return rows.merged(state == JobState::Dead, descends, in_store, from, limit, tried).await;
        }
        Ok(in_store)
    }

    /// A page in descending order with the first 512 bytes of each body, the caller's own id and the newest error (at most 512 bytes of
    /// each): a call reads at most 500 records and 4 MiB of Redis, however large the bodies are. Jobs that exist only as rows are read
    /// whole, one after the other.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn previews(
        &self,
        state: JobState,
        before: Option<Listed>,
        limit: usize,
    ) -> Result<PreviewPage, QueueError> {
        const { assert!(PREVIEW_BYTES <= PREVIEW_BYTES_MAX, "the store rejects longer previews") };
        let listed = self.newest(state, before, limit).await?;
        let next = if listed.len() < limit { None } else { listed.last().copied() };
        let ids: Vec<JobId> = listed.iter().map(|listed| listed.id).collect();
        let ask = |shard: Shard, ids: Vec<JobId>| async move {
            self.store.run(&shard, &ReadPreviews { ids, bytes: PREVIEW_BYTES }).await
        };
        let found = self.router.route(&ids, |id| *id, ask, Option::is_none).await?;
        let (mut jobs, states) = (Vec::with_capacity(listed.len()), state.states_in_store());
        for (listed, preview) in listed.into_iter().zip(found) {
            let is_here = |preview: &Preview| match preview {
                Preview::Live { state, .. } => states.contains(state),
                Preview::Ended(_) => false,
                Preview::Unreadable(_) => true,
            };
            let preview = preview.filter(is_here);
            #[cfg(feature = "sql")]
            let preview = match (&self.rows, preview) {
                (Some(rows), None) if state != JobState::Leased => {
                    Preview::of(Ok(rows.find(listed.id, None).await?), PREVIEW_BYTES).filter(is_here)
                }
                (_, preview) => preview,
            };
            jobs.extend(preview.map(|preview| Previewed { listed, preview }));
        }
        Ok(Page { jobs, next })
    }

    /// The same page with only the jobs in the store.
    pub(super) async fn list_of_store(
        &self,
        PageOf { state, from, limit, descends }: PageOf,
        tried: &mut Tried<QueueError>,
    ) -> Result<Vec<Listed>, QueueError> {
        let mut all = Vec::new();
        for shard in self.router.look().await?.iter() {
            for stored in state.states_in_store() {
                let list = List { state: stored, newest_first: descends, after: from, limit };
                all.extend(tried.note(self.store.run(shard, &list).await)?.into_iter().flatten());
            }
        }
        all.sort_unstable_by_key(|listed| (listed.score, listed.id));
        if descends {
            all.reverse();
        }
        all.truncate(limit);
        Ok(all)
    }

    /// The same page with the jobs themselves. Bodies are read whole, so use small pages for large bodies.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn peek(&self, state: JobState, after: Option<Listed>, limit: usize) -> Result<Page, QueueError> {
        let listed = self.list(state, after, limit).await?;
        let jobs = self.seen(state, &listed, &mut Tried::whole()).await?;
        let next = if listed.len() < limit { None } else { listed.last().copied() };
        Ok(Page { jobs, next })
    }

    /// A page in descending order with the jobs themselves, for a search through all of them: up to `limit` jobs (at most 500), but no more than 4
    /// MiB from each shard, and 4 MiB of rows. A job above 1 MiB is a page of its own. The page after it begins where this one ended.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn scan(&self, state: JobState, before: Option<Listed>, limit: usize) -> Result<Page, QueueError> {
        let listed = self.newest(state, before, limit).await?;
        let ids: Vec<JobId> = listed.iter().map(|listed| listed.id).collect();
        let some = self.router.some_jobs(&ids).await?;
        let mut answers: Vec<Option<Looked>> = some.into_iter().take_while(Option::is_some).collect();
        let mut tried = Tried::whole();
        if answers.is_empty() && !ids.is_empty() {
            answers = self.router.jobs(&ids[..1], &mut tried).await?;
        }
        #[cfg(feature = "sql")]
        let answers = self.seen_in_rows(state, &ids, answers, SCAN_BYTES, &mut tried).await?;
        let read = &listed[..answers.len()];
        let is_last = listed.len() < limit && read.len() == listed.len();
        let next = if is_last { None } else { read.last().copied() };
        Ok(Page { jobs: seen(state, read, answers), next })
    }

    /// Reads the listed jobs that are still there. Those whose shard or row is rejected are left out.
    pub(super) async fn seen(
        &self,
        state: JobState,
        listed: &[Listed],
        tried: &mut Tried<QueueError>,
    ) -> Result<Vec<Seen>, QueueError> {
        debug_assert!(listed.len() <= ITEMS_MAX, "a page is one call a shard");
        let ids: Vec<JobId> = listed.iter().map(|listed| listed.id).collect();
        let answers = self.router.jobs(&ids, tried).await?;
        #[cfg(feature = "sql")]
        let answers = self.seen_in_rows(state, &ids, answers, usize::MAX, tried).await?;
        Ok(seen(state, listed, answers))
    }

    /// Adds the jobs that exist only as rows, and ends after `bytes_max` of them.
    #[cfg(feature = "sql")]
    async fn seen_in_rows(
        &self,
        state: JobState,
        ids: &[JobId],
        answers: Vec<Option<Looked>>,
        bytes_max: usize,
        tried: &mut Tried<QueueError>,
    ) -> Result<Vec<Option<Looked>>, QueueError> {
        let Some(rows) = &self.rows else { return Ok(answers) };
        let (mut all, mut bytes) = (Vec::with_capacity(answers.len()), 0);
        let states = state.states_in_store();
        for (id, looked) in ids.iter().zip(answers) {
            if bytes >= bytes_max {
                break;
            }
            all.push(match looked {
                Some(Ok(Some(Found::Live { state, score, job }))) if states.contains(&state) => {
                    Some(Ok(Some(Found::Live { state, score, job })))
                }
                Some(Ok(found)) if state != JobState::Leased => {
                    let found = tried.note(rows.find(*id, found).await)?;
                    if let Some(Some(Found::Live { job, .. })) = &found {
                        bytes += job.spec.body.len();
                    }
                    found.map(Ok)
                }
                looked => looked,
            });
        }
        Ok(all)
    }
}

/// The jobs that are in this state, of those that were listed and read.
fn seen(state: JobState, listed: &[Listed], answers: Vec<Option<Looked>>) -> Vec<Seen> {
    let states = state.states_in_store();
    let seen = listed.iter().zip(answers).filter_map(|(listed, looked)| match looked? {
        Ok(Some(Found::Live { state, score, job })) => {
            states.contains(&state).then_some(Seen { id: listed.id, state, score, job: Ok(job) })
        }
        Ok(_) => None,
        Err(unreadable) => {
            let Listed { id, score } = *listed;
            Some(Seen { id, state: states[0], score, job: Err(unreadable) })
        }
    });
    seen.collect()
}
