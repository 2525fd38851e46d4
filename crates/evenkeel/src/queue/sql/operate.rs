//! What operators and programs do to jobs that rows judge: the row goes first, and the answer says what is in the row.
//!
//! A row is changed only as it was seen (version and fence), and the store is looked at in between. So a delivery that begins meanwhile
//! is noticed, and one that has not begun when the row changes never begins: its version is not the row's.

use super::judge::Judge;
use super::table::{JobRow, LIST_MAX, PAGE, Page};
use crate::queue::sending::for_work::job_record;
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{End, FORGET_MS, JobId, Keep};
use evenkeel_protocol::queue::steps::Head;
use evenkeel_protocol::queue::steps::{Listed, Put, PutChange, Reschedule, Rescheduled, Revoked, Shard, State, When};
use std::collections::HashSet;

/// How often a job is looked at again that others change or begin at the same time.
const TRIES: u32 = 10;

/// What stands in the way of a change.
enum Standing {
    /// Nothing; whether a worker that fell silent may have begun the job.
    Free(bool),
    Running,
    Dead,
}

impl Judge {
    /// Takes a job back.
    pub(crate) async fn revoke(&self, id: JobId) -> Result<Revoked, QueueError> {
        for _ in 0..TRIES {
            // A tick of a schedule has no row, nor has what was sent under another durability.
            let Some(row) = self.row_of(id).await? else { return self.revoke_in_store(id).await };
            if !row.is_live {
                return Ok(row.ended_as.map_or(Revoked::Unknown, revoked_as));
            }
            let end = match self.standing(id, &row, None).await? {
                Standing::Running => return Ok(Revoked::Running),
                Standing::Dead => return Ok(Revoked::Dead),
                Standing::Free(true) => End::RevokedAfterLapse,
                Standing::Free(false) => End::Revoked,
            };
            if self.end_by_hand(id, &row, end).await? {
                return Ok(revoked_as(end));
            }
        }
        Err(contended(id))
    }

    /// Moves or edits a waiting job.
    pub(crate) async fn reschedule(&self, change: Reschedule) -> Result<Rescheduled, QueueError> {
        let id = change.id;
        for _ in 0..TRIES {
            let Some(row) = self.ask(self.table.row(&self.topic, id)).await? else {
                return self.reschedule_in_store(change).await;
            };
            if !row.is_live {
                return Ok(row.ended_as.map_or(Rescheduled::Unknown, Rescheduled::Ended));
            }
            let answer = match self.standing(id, &row, Some(&change)).await? {
                Standing::Running => return Ok(Rescheduled::Running),
                Standing::Dead => return Ok(Rescheduled::Dead),
                Standing::Free(true) => Rescheduled::ChangedAfterLapse,
                Standing::Free(false) => Rescheduled::Changed,
            };
            if self.change_row(&change, row).await? {
                return Ok(answer);
            }
        }
        Err(contended(id))
    }

    /// Deletes a dead letter; whether it was one.
    pub(crate) async fn delete_dead(&self, id: JobId) -> Result<bool, QueueError> {
        for _ in 0..TRIES {
            let row = self.row_of(id).await?.filter(|row| row.is_live);
            let is_dead_in_store = matches!(self.head(id).await?, Some(Head::Live { state: State::Dead, .. }));
            let is_dead =
                row.as_ref().map_or(is_dead_in_store, |row| row.is_dead || (is_dead_in_store && !row.is_redriven));
            if !is_dead {
                return Ok(false);
            }
            let Some(row) = row else { return Ok(self.delete_in_store(&[id]).await? == 1) };
            if self.ask(self.table.revoke(&self.topic, id, &row, End::Deleted)).await? {
                if is_dead_in_store {
                    self.told_later("a dead letter is deleted", self.delete_in_store(&[id]).await);
                } else {
                    self.told_later(
                        "a dead letter is deleted",
                        self.router.put(&[withdrawal(id, row.version + 1)]).await,
                    );
                }
                return Ok(true);
            }
        }
        Err(contended(id))
    }

    /// Deletes what waits, also what the store does not have: all rows that live when it begins, but for those that run or are dead.
    pub(crate) async fn purge_waiting(&self) -> Result<u64, QueueError> {
        let (mut deleted, mut after) = (0, None);
        let mut left = self.ask(self.table.count(&self.topic)).await?;
        while left > 0 {
            let limit = usize::try_from(left).unwrap_or(PAGE).min(PAGE);
            let page = Page { after, due_before: u64::MAX, limit };
            let rows = self.ask(self.table.page(&self.topic, page)).await?;
            let Some((last, _)) = rows.last() else { break };
            after = Some(*last);
            left = left.saturating_sub(rows.len() as u64);
            let ids: Vec<JobId> = rows.iter().map(|(id, _)| *id).collect();
            let mut ended = Vec::new();
            for ((id, row), head) in rows.into_iter().zip(self.heads(&ids).await?) {
                let stays = row.is_dead || matches!(head, Some(Head::Live { state: State::Leased | State::Dead, .. }));
                if !stays && self.ask(self.table.revoke(&self.topic, id, &row, End::Deleted)).await? {
                    ended.push(withdrawal(id, row.version + 1));
                }
            }
            deleted += ended.len() as u64;
            self.told_later("jobs are deleted", self.router.put(&ended).await);
        }
        Ok(deleted)
    }

    /// Of these ids of the store, those that no live row stands for: ended by a row, or never rows.
    pub(crate) async fn without_row(&self, listed: &[Listed]) -> Result<Vec<JobId>, QueueError> {
        let mut live = HashSet::new();
        let ids: Vec<JobId> = listed.iter().map(|listed| listed.id).collect();
        for part in ids.chunks(LIST_MAX) {
            let rows = self.ask(self.table.heads(&self.topic, part)).await?;
            live.extend(rows.into_iter().filter(|(_, row)| row.is_live).map(|(id, _)| id));
        }
        Ok(ids.into_iter().filter(|id| !live.contains(id)).collect())
    }

    /// Of these dead letters, those whose rows live, or that never had rows. The others have ended whatever the store says, so they leave
    /// it: sent back they would not run. The rows of the timely ones live again, due after the delay.
    pub(crate) async fn redrivable(
        &self,
        ids: Vec<JobId>,
        timely: &HashSet<JobId>,
        delay_ms: u64,
    ) -> Result<Vec<JobId>, QueueError> {
        if !guard("sql_redrive_asks_row") {
            return Ok(ids);
        }
        let listed: Vec<Listed> = ids.iter().map(|id| Listed { score: 0, id: *id }).collect();
        let gone = self.without_row(&listed).await?;
        // A job without a version never had a row.
        let ended: Vec<JobId> = gone
            .iter()
            .zip(self.heads(&gone).await?)
            .filter(|(_, head)| matches!(head, Some(Head::Live { version: 1.., .. })))
            .map(|(id, _)| *id)
            .collect();
        if !ended.is_empty() {
            tracing::warn!(queue = %self.topic, jobs = ended.len(), "dead letters were removed whose rows say that they have ended");
            self.delete_in_store(&ended).await?;
        }
        let ids: Vec<JobId> = ids.into_iter().filter(|id| !ended.contains(id)).collect();
        if guard("sql_redrive_in_row") {
            // Those from before rows knew of deaths: a sweep that saw them dead must not bury them once they are sent back.
            let sent: Vec<JobId> = ids.iter().filter(|id| timely.contains(id)).copied().collect();
            self.bury_as_in_store(&sent).await?;
            let due_at = self.store.now_ms().saturating_add(delay_ms);
            for part in sent.chunks(LIST_MAX) {
                self.ask(self.table.redrive(&self.topic, part, due_at)).await?;
            }
        }
        Ok(ids)
    }

    /// Makes the rows of those dead again that the store says are dead: they were not to be sent back after all.
    pub(crate) async fn bury_as_in_store(&self, ids: &[JobId]) -> Result<(), QueueError> {
        let mut died = Vec::new();
        for part in ids.chunks(LIST_MAX) {
            let rows = self.ask(self.table.heads(&self.topic, part)).await?;
            died.extend(rows.into_iter().filter(|(_, row)| row.is_live && !row.is_dead));
        }
        self.bury(&died).await
    }

    /// A page of what waits by due time and then by id, or of dead letters by time of death: what the store has (its page), and what only
    /// rows have.
    pub(crate) async fn merged(
        &self,
        is_dead: bool,
        in_store: Vec<Listed>,
        after: Option<Listed>,
        limit: usize,
    ) -> Result<Vec<Listed>, QueueError> {
        let (mut all, mut from) = (in_store, after);
        loop {
            let rows = self.ask(self.table.due(&self.topic, is_dead, from, limit)).await?;
            let ids: Vec<JobId> = rows.iter().map(|(id, _)| *id).collect();
            let listed: HashSet<JobId> = all.iter().map(|listed| listed.id).collect();
            let of_rows = rows.iter().zip(self.heads(&ids).await?).filter_map(|((id, row), head)| {
                let score = match head {
                    None | Some(Head::Ended { .. }) => row.due_at,
                    // It has come into the store since that was listed.
                    Some(Head::Live { state: State::Dead, score, .. }) if is_dead => score,
                    Some(Head::Live { state: State::Waiting(_), score, .. }) if !is_dead => score,
                    // A dead letter's row knows of its death before the store does.
                    Some(Head::Live { .. }) if is_dead => row.due_at,
                    Some(_) => return None,
                };
                let place = Listed { score, id: *id };
                let is_after = after.is_none_or(|after| place_of(&place) > place_of(&after));
                (is_after && !listed.contains(id)).then_some(place)
            });
            all.extend(of_rows);
            all.sort_unstable_by_key(place_of);
            let last = rows.last().map(|(id, row)| Listed { score: row.due_at, id: *id });
            // Whatever comes before the last row that was read is known by now.
            let is_known = |listed: &&Listed| last.is_some_and(|last| place_of(listed) <= place_of(&last));
            if rows.len() < limit || all.iter().filter(is_known).count() >= limit {
                all.truncate(limit);
                return Ok(all);
            }
            from = last;
        }
    }

    /// How many dead letters there are by the rows.
    pub(crate) async fn count_dead(&self) -> Result<u64, QueueError> {
        self.ask(self.table.count_dead(&self.topic)).await
    }

    /// How many jobs live, wherever they are.
    pub(crate) async fn count(&self) -> Result<u64, QueueError> {
        self.ask(self.table.count(&self.topic)).await
    }

    /// Stops the topic until then, or goes on.
    pub(crate) async fn pause(&self, until: Option<u64>) -> Result<(), QueueError> {
        self.ask(self.table.pause(&self.topic, until)).await
    }

    /// Makes the store's pause that of the row, if there is one. A pause that only the store knows (of a handler) stays.
    pub(crate) async fn restore_pause(&self) -> Result<(), QueueError> {
        let Some(until) = self.ask(self.table.paused(&self.topic)).await? else { return Ok(()) };
        if until <= self.store.now_ms() {
            return Ok(());
        }
        for shard in self.router.look().await?.iter() {
            if self.store.stats(shard).await?.paused_until.is_none() {
                tracing::info!(queue = %self.topic, ?shard, "the store had lost a pause; it is paused again");
                self.store.pause(shard, (until < FOREVER).then_some(until)).await?;
            }
        }
        Ok(())
    }

    /// Where some jobs are in the store.
    pub(super) async fn heads(&self, ids: &[JobId]) -> Result<Vec<Option<Head>>, QueueError> {
        let ask = |shard: Shard, ids: Vec<JobId>| async move { self.store.heads(&shard, &ids).await };
        self.router.route(ids, |id| *id, ask, Option::is_none).await
    }

    async fn head(&self, id: JobId) -> Result<Option<Head>, QueueError> {
        Ok(self.heads(&[id]).await?.pop().flatten())
    }

    async fn row_of(&self, id: JobId) -> Result<Option<JobRow>, QueueError> {
        Ok(self.ask(self.table.heads(&self.topic, &[id])).await?.pop().map(|(_, row)| row))
    }

    /// Whether a job may be changed. Only the store can tell whether a lease is still good, and it does so by the step itself, which
    /// changes nothing of one that is.
    async fn standing(&self, id: JobId, row: &JobRow, change: Option<&Reschedule>) -> Result<Standing, QueueError> {
        if row.is_dead {
            return Ok(Standing::Dead);
        }
        match self.head(id).await? {
            Some(Head::Live { state: State::Dead, .. }) if !row.is_redriven => Ok(Standing::Dead),
            Some(Head::Live { state: State::Waiting(_) | State::Dead, lapsed, .. }) => Ok(Standing::Free(lapsed)),
            Some(Head::Live { state: State::Leased, .. }) => Ok(match change {
                None => match self.revoke_in_store(id).await? {
                    Revoked::Running => Standing::Running,
                    Revoked::Dead => Standing::Dead,
                    found => Standing::Free(found != Revoked::Revoked),
                },
                Some(change) => match self.reschedule_in_store(change.clone()).await? {
                    Rescheduled::Running => Standing::Running,
                    Rescheduled::Dead => Standing::Dead,
                    found => Standing::Free(found != Rescheduled::Changed),
                },
            }),
            // The store has lost it, or not got it yet: nobody knows of a worker that may have begun it.
            None | Some(Head::Ended { .. } | Head::Unreadable) => Ok(Standing::Free(row.fence > 0)),
        }
    }

    /// Ends a row as it was seen, and then the store's copy; false: the row is another one by now.
    async fn end_by_hand(&self, id: JobId, seen: &JobRow, end: End) -> Result<bool, QueueError> {
        if guard("sql_operator_row") && !self.ask(self.table.revoke(&self.topic, id, seen, end)).await? {
            return Ok(false);
        }
        // Whoever is about to put it back comes too late from now on.
        self.told_later("a job is revoked", self.router.put(&[withdrawal(id, seen.version + 1)]).await);
        Ok(true)
    }

    /// Gives a row as it was seen a new version, and then the store; false: the row is another one by now.
    async fn change_row(&self, change: &Reschedule, seen: JobRow) -> Result<bool, QueueError> {
        let now = self.store.now_ms();
        let mut job = self.job_of(&seen)?;
        if let Some(body) = &change.body {
            (job.spec.body, job.spec.codec) = (body.clone(), change.codec);
        }
        let due_at = match change.when {
            Some(When::At(due)) => due,
            Some(When::In(delay)) => now.saturating_add(delay),
            None => seen.due_at,
        };
        let version = seen.version + 1;
        let changed = JobRow { version, due_at, record: job_record(&job.spec, version), ..seen.clone() };
        if guard("sql_operator_row") && !self.ask(self.table.change(&self.topic, change.id, &seen, &changed)).await? {
            return Ok(false);
        }
        if due_at < self.horizon_ms(now) || !guard("sql_horizon") {
            self.told_later("a job is changed", self.router.put(&[self.put_of_row(change.id, &changed)?]).await);
        }
        Ok(true)
    }

    async fn revoke_in_store(&self, id: JobId) -> Result<Revoked, QueueError> {
        let ask = |shard: Shard, ids: Vec<JobId>| async move { self.store.revoke(&shard, &ids).await };
        let found = self.router.route(&[id], |id| *id, ask, |answer| *answer == Revoked::Unknown).await?;
        Ok(found.first().copied().unwrap_or(Revoked::Unknown))
    }

    async fn reschedule_in_store(&self, change: Reschedule) -> Result<Rescheduled, QueueError> {
        let ask = |shard: Shard, changes: Vec<Reschedule>| async move { self.store.reschedule(&shard, &changes).await };
        let not_here = |answer: &Rescheduled| *answer == Rescheduled::Unknown;
        let found = self.router.route(&[change], |change| change.id, ask, not_here).await?;
        Ok(found.first().copied().unwrap_or(Rescheduled::Unknown))
    }

    async fn delete_in_store(&self, ids: &[JobId]) -> Result<usize, QueueError> {
        let ask = |shard: Shard, ids: Vec<JobId>| async move { self.store.delete(&shard, &ids).await };
        let deleted = self.router.route(ids, |id| *id, ask, |was_dead| !was_dead).await?;
        Ok(deleted.into_iter().filter(|was_dead| *was_dead).count())
    }

    /// The row has it, so the answer stands whether the store has heard of it or not: it refuses to begin what is not the row's.
    fn told_later<A>(&self, what: &str, told: Result<A, QueueError>) {
        if let Err(error) = told {
            tracing::warn!(queue = %self.topic, %error, "{what} in the row and not in the store yet; the row decides");
        }
    }
}

/// The order of a page.
fn place_of(listed: &Listed) -> (u64, JobId) {
    (listed.score, listed.id)
}

/// The largest number of a row: a pause without an end.
const FOREVER: u64 = i64::MAX.unsigned_abs();

fn withdrawal(id: JobId, version: u64) -> Put {
    Put { id, version, change: PutChange::Withdraw(Keep::AfterEnd(FORGET_MS)) }
}

fn contended(id: JobId) -> QueueError {
    QueueError::Database {
        reason: format!("job {id} is changed or begun by others at the same time; look at it and try again"),
        is_retryable: true,
    }
}

/// What a revocation says of a job that has ended.
fn revoked_as(end: End) -> Revoked {
    match end {
        End::Revoked => Revoked::Revoked,
        End::RevokedAfterLapse => Revoked::RevokedAfterLapse,
        end => Revoked::Ended(end),
    }
}
