//! Operations on jobs with rows: the row is changed first, and its state is the result.
//!
//! A row is changed by a compare-and-set on its version and fence, and the store is read between the read and the write of the row. So a
//! delivery that starts meanwhile is detected, and a delivery that has not started when the row changes never starts, because its version
//! is not the row's.

use super::source_of_truth::JobRows;
use super::table::{JobRow, PAGE, Page};
use crate::queue::sending::for_work::{due_at, job_record};
use evenkeel_link::support::{Tried, guard};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{End, FORGET_MS, JobId, Retention};
use evenkeel_protocol::queue::steps::Head;
use evenkeel_protocol::queue::steps::{
    Listed, Pause, Put, PutChange, ReadHeads, ReadStats, Reschedule, Rescheduled, Revoked, Shard, State,
};
use std::cmp::Ordering;
use std::collections::HashSet;

/// How often an operation is repeated while other processes change or start the job.
pub(super) const TRIES: u32 = 10;

/// Whether a job may be changed.
enum Changeable {
    /// It may; true if a worker whose lease has expired may have started the job.
    Free(bool),
    Running,
    Dead,
}

impl JobRows {
    /// Revokes a job.
    pub(crate) async fn revoke(&self, id: JobId) -> Result<Revoked, QueueError> {
        for _ in 0..TRIES {
            // Ticks of schedules and jobs of another durability have no row.
            let Some(row) = self.row_of(id).await? else { return self.router.revoke_one(id).await };
            if !row.is_live {
                return Ok(row.ended_as.map_or(Revoked::Unknown, revoked_as));
            }
            let end = match self.changeable(id, &row, None).await? {
                Changeable::Running => return Ok(Revoked::Running),
                Changeable::Dead => return Ok(Revoked::Dead),
                Changeable::Free(true) => End::RevokedAfterLeaseExpiry,
                Changeable::Free(false) => End::Revoked,
            };
            if self.end_by_operator(id, &row, end).await? {
                return Ok(revoked_as(end));
            }
        }
        Err(contended(id))
    }

    /// Reschedules or edits a waiting job.
    pub(crate) async fn reschedule(&self, change: Reschedule) -> Result<Rescheduled, QueueError> {
        let id = change.id;
        // A row must not get a time that the store would reject.
        change.check()?;
        for _ in 0..TRIES {
            let Some(row) = self.ask(self.table.row(&self.topic, id)).await? else {
                return self.router.reschedule_one(change).await;
            };
            if !row.is_live {
                return Ok(row.ended_as.map_or(Rescheduled::Unknown, Rescheduled::Ended));
            }
            let answer = match self.changeable(id, &row, Some(&change)).await? {
                Changeable::Running => return Ok(Rescheduled::Running),
                Changeable::Dead => return Ok(Rescheduled::Dead),
                Changeable::Free(true) => Rescheduled::ChangedAfterLeaseExpiry,
                Changeable::Free(false) => Rescheduled::Changed,
            };
            if self.change_row(&change, row).await? {
                return Ok(answer);
            }
        }
        Err(contended(id))
    }

    /// Deletes a dead letter; returns whether the job was one.
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
                    self.store_updated("a dead letter was deleted", &self.delete_in_store(&[id]).await);
                } else {
                    self.store_updated(
                        "a dead letter was deleted",
                        &self.router.put(&[withdrawal(id, row.version + 1)]).await,
                    );
                }
                return Ok(true);
            }
        }
        Err(contended(id))
    }

    /// Deletes waiting jobs, including those that are not in the store: all live rows when it begins, except those of running and dead
    /// jobs, and of jobs whose shard Redis rejects: whether these run is not known.
    pub(crate) async fn purge_waiting(&self, tried: &mut Tried<QueueError>) -> Result<u64, QueueError> {
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
            for ((id, row), head) in rows.into_iter().zip(self.heads(&ids, tried).await?) {
                let Some(head) = head else { continue };
                let stays = row.is_dead || matches!(head, Some(Head::Live { state: State::Leased | State::Dead, .. }));
                if !stays {
                    let revoked = self.ask(self.table.revoke(&self.topic, id, &row, End::Deleted)).await;
                    if tried.note(revoked)?.unwrap_or(false) {
                        ended.push(withdrawal(id, row.version + 1));
                    }
                }
            }
            deleted += ended.len() as u64;
            self.store_updated("a purged job was deleted", &self.router.put(&ended).await);
        }
        Ok(deleted)
    }

    /// Returns the ids without a live row: their row has ended, or they never had one.
    pub(crate) async fn without_row(&self, ids: &[JobId]) -> Result<Vec<JobId>, QueueError> {
        let rows = self.ask(self.table.heads(&self.topic, ids)).await?;
        let live: HashSet<JobId> = rows.into_iter().filter(|(_, row)| row.is_live).map(|(id, _)| id).collect();
        Ok(ids.iter().copied().filter(|id| !live.contains(id)).collect())
    }

    /// Returns the dead letters that have a live row, or never had a row. The rows of the others have ended, so they are removed from the
    /// store, where a redriven copy would not run. The rows of `timely` ones become redriven, due after the delay.
    pub(crate) async fn redrivable(
        &self,
        ids: Vec<JobId>,
        timely: &HashSet<JobId>,
        delay_ms: u64,
    ) -> Result<Vec<JobId>, QueueError> {
        if !guard("sql_redrive_asks_row") {
            return Ok(ids);
        }
        let gone = self.without_row(&ids).await?;
        // A job without a version never had a row.
        let ended: Vec<JobId> = gone
            .iter()
            .zip(self.heads(&gone, &mut Tried::whole()).await?)
            .filter(|(_, head)| matches!(head, Some(Some(Head::Live { version: 1.., .. }))))
            .map(|(id, _)| *id)
            .collect();
        if !ended.is_empty() {
            tracing::warn!(queue = %self.topic, jobs = ended.len(), "dead letters were removed from the store because their rows have ended");
            self.delete_in_store(&ended).await?;
        }
        let ids: Vec<JobId> = ids.into_iter().filter(|id| !ended.contains(id)).collect();
        if guard("sql_redrive_in_row") {
            // Older versions did not record deaths in rows: a concurrent sweep must not mark the row dead after the redrive.
            let sent: Vec<JobId> = ids.iter().filter(|id| timely.contains(id)).copied().collect();
            self.mark_dead_as_in_store(&sent).await?;
            let due_at = self.store.now_ms().saturating_add(delay_ms);
            self.ask(self.table.redrive(&self.topic, &sent, due_at)).await?;
        }
        Ok(ids)
    }

    /// Marks the rows of jobs dead again that are dead in the store, because the redrive skipped them.
    pub(crate) async fn mark_dead_as_in_store(&self, ids: &[JobId]) -> Result<(), QueueError> {
        let rows = self.ask(self.table.heads(&self.topic, ids)).await?;
        let died: Vec<_> = rows.into_iter().filter(|(_, row)| row.is_live && !row.is_dead).collect();
        self.mark_dead(&died).await
    }

    /// A page of waiting jobs by due time and then by id, or of dead letters by time of death: merges the page of the store with the jobs
    /// that exist only as rows.
    pub(crate) async fn merged(
        &self,
        is_dead: bool,
        descends: bool,
        in_store: Vec<Listed>,
        after: Option<Listed>,
        limit: usize,
        tried: &mut Tried<QueueError>,
    ) -> Result<Vec<Listed>, QueueError> {
        let (mut all, mut from) = (in_store, after);
        let order = |a: &Listed, b: &Listed| {
            let ascending = place_of(a).cmp(&place_of(b));
            if descends { ascending.reverse() } else { ascending }
        };
        loop {
            let rows = self.ask(self.table.due(&self.topic, is_dead, descends, from, limit)).await?;
            let ids: Vec<JobId> = rows.iter().map(|(id, _)| *id).collect();
            let listed: HashSet<JobId> = all.iter().map(|listed| listed.id).collect();
            let of_rows = rows.iter().zip(self.heads(&ids, tried).await?).filter_map(|((id, row), head)| {
                let score = match head? {
                    None | Some(Head::Ended { .. }) => row.due_at,
                    // The job was put into the store after its page was read.
                    Some(Head::Live { state: State::Dead, score, .. }) if is_dead => score,
                    Some(Head::Live { state: State::Waiting(_), score, .. }) if !is_dead => score,
                    // The row records a death before the store does.
                    Some(Head::Live { .. }) if is_dead => row.due_at,
                    Some(_) => return None,
                };
                let place = Listed { score, id: *id };
                let is_after = after.is_none_or(|after| order(&after, &place) == Ordering::Less);
                (is_after && !listed.contains(id)).then_some(place)
            });
            all.extend(of_rows);
            all.sort_unstable_by(order);
            let last = rows.last().map(|(id, row)| Listed { score: row.due_at, id: *id });
            // All entries up to the last row that was read are complete.
            let is_known = |listed: &&Listed| last.is_some_and(|last| order(listed, &last) != Ordering::Greater);
            if rows.len() < limit || all.iter().filter(is_known).count() >= limit {
                all.truncate(limit);
                return Ok(all);
            }
            from = last;
        }
    }

    /// The number of dead letters, by their rows.
    pub(crate) async fn count_dead(&self) -> Result<u64, QueueError> {
        self.ask(self.table.count_dead(&self.topic)).await
    }

    /// The number of live rows.
    pub(crate) async fn count(&self) -> Result<u64, QueueError> {
        self.ask(self.table.count(&self.topic)).await
    }

    /// Pauses the topic until a time, or resumes it.
    pub(crate) async fn pause(&self, until: Option<u64>) -> Result<(), QueueError> {
        self.ask(self.table.pause(&self.topic, until)).await
    }

    /// Restores the pause of the row in the store, if there is one. A pause that only the store has (set by a handler) stays.
    pub(crate) async fn restore_pause(&self) -> Result<(), QueueError> {
        let Some(until) = self.ask(self.table.paused(&self.topic)).await? else { return Ok(()) };
        if until <= self.store.now_ms() {
            return Ok(());
        }
        let mut tried = Tried::unless(QueueError::is_retryable);
        for shard in self.router.look().await?.iter() {
            let stats = tried.note(self.store.run(shard, &ReadStats).await)?;
            if stats.is_some_and(|stats| stats.paused_until.is_none()) {
                tracing::info!(queue = %self.topic, ?shard, "a pause that the store had lost was restored");
                tried.note(self.store.run(shard, &Pause((until < FOREVER).then_some(until))).await)?;
            }
        }
        tried.finish()
    }

    /// The states of some jobs in the store; `None` for a job whose shard Redis rejects.
    pub(super) async fn heads(
        &self,
        ids: &[JobId],
        tried: &mut Tried<QueueError>,
    ) -> Result<Vec<Option<Option<Head>>>, QueueError> {
        let ask = |shard: Shard, ids: Vec<JobId>| async move { self.store.run(&shard, &ReadHeads(ids)).await };
        self.router.route_each(ids, |id| *id, ask, Option::is_none, tried).await
    }

    pub(super) async fn head(&self, id: JobId) -> Result<Option<Head>, QueueError> {
        Ok(self.heads(&[id], &mut Tried::whole()).await?.pop().flatten().flatten())
    }

    pub(super) async fn row_of(&self, id: JobId) -> Result<Option<JobRow>, QueueError> {
        Ok(self.ask(self.table.heads(&self.topic, &[id])).await?.pop().map(|(_, row)| row))
    }

    /// Whether a job may be changed. Only the store knows whether a lease is still valid; for a leased job its step is called, which
    /// changes nothing while the lease is valid.
    async fn changeable(&self, id: JobId, row: &JobRow, change: Option<&Reschedule>) -> Result<Changeable, QueueError> {
        if row.is_dead {
            return Ok(Changeable::Dead);
        }
        match self.head(id).await? {
            Some(Head::Live { state: State::Dead, .. }) if !row.is_redriven => Ok(Changeable::Dead),
            Some(Head::Live { state: State::Waiting(_) | State::Dead, lease_expired, .. }) => {
                Ok(Changeable::Free(lease_expired))
            }
            Some(Head::Live { state: State::Leased, .. }) => Ok(match change {
                None => match self.router.revoke_one(id).await? {
                    Revoked::Running => Changeable::Running,
                    Revoked::Dead => Changeable::Dead,
                    found => Changeable::Free(found != Revoked::Revoked),
                },
                Some(change) => match self.router.reschedule_one(change.clone()).await? {
                    Rescheduled::Running => Changeable::Running,
                    Rescheduled::Dead => Changeable::Dead,
                    found => Changeable::Free(found != Rescheduled::Changed),
                },
            }),
            // The store has lost the job or does not have it yet; the row's fence shows whether a worker may have started it.
            None | Some(Head::Ended { .. } | Head::Unreadable) => Ok(Changeable::Free(row.fence > 0)),
        }
    }

    /// Ends a row if it is unchanged since it was read, and then the job in the store; returns false if the row has changed.
    async fn end_by_operator(&self, id: JobId, seen: &JobRow, end: End) -> Result<bool, QueueError> {
        if guard("sql_operator_row") && !self.ask(self.table.revoke(&self.topic, id, seen, end)).await? {
            return Ok(false);
        }
        // The higher version supersedes a concurrent restore by the sweep.
        self.store_updated("a job was revoked", &self.router.put(&[withdrawal(id, seen.version + 1)]).await);
        Ok(true)
    }

    /// Writes a new version to a row if it is unchanged since it was read, and then to the store; returns false if the row has changed.
    async fn change_row(&self, change: &Reschedule, seen: JobRow) -> Result<bool, QueueError> {
        let now = self.store.now_ms();
        let mut job = self.job_of(&seen)?;
        if let Some(body) = &change.body {
            (job.spec.body, job.spec.codec) = (body.clone(), change.codec);
        }
        let due_at = change.when.map_or(seen.due_at, |when| due_at(when, now));
        let version = seen.version + 1;
        let changed = JobRow { version, due_at, record: job_record(&job.spec, version), ..seen.clone() };
        if guard("sql_operator_row") && !self.ask(self.table.change(&self.topic, change.id, &seen, &changed)).await? {
            return Ok(false);
        }
        if due_at < self.horizon_ms(now) || !guard("sql_horizon") {
            self.store_updated("a job was changed", &self.router.put(&[self.put_of_row(change.id, &changed)?]).await);
        }
        Ok(true)
    }

    async fn delete_in_store(&self, ids: &[JobId]) -> Result<usize, QueueError> {
        let deleted = self.router.delete(ids).await?;
        Ok(deleted.into_iter().filter(|was_dead| *was_dead).count())
    }

    /// Logs a failed update of the store. The result stands, because the row is changed and no delivery of another
    /// version starts.
    pub(super) fn store_updated<A>(&self, what: &str, updated: &Result<A, QueueError>) {
        self.failing.log("update", updated, |error, times| {
            tracing::warn!(queue = %self.topic, %error, times, "{what} in its row, not yet in the store; the row is the source of truth");
        });
    }
}

/// The sort key of a page.
fn place_of(listed: &Listed) -> (u64, JobId) {
    (listed.score, listed.id)
}

/// The time of a pause without an end: the largest integer of a row.
const FOREVER: u64 = i64::MAX.unsigned_abs();

fn withdrawal(id: JobId, version: u64) -> Put {
    Put { id, version, change: PutChange::Withdraw(Retention::AfterEnd(FORGET_MS)) }
}

pub(super) fn contended(id: JobId) -> QueueError {
    QueueError::Database {
        reason: format!("other processes are changing or starting job {id}; check its state and try again"),
        is_retryable: true,
    }
}

/// The result of a revocation of an ended job.
fn revoked_as(end: End) -> Revoked {
    match end {
        End::Revoked => Revoked::Revoked,
        End::RevokedAfterLeaseExpiry => Revoked::RevokedAfterLeaseExpiry,
        end => Revoked::Ended(end),
    }
}
