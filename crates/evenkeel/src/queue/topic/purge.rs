//! Purges the jobs of a state.

#[cfg(feature = "sql")]
use super::page::PageOf;
use super::{JobState, Topic};
use evenkeel_link::support::Tried;
use evenkeel_protocol::queue::error::QueueError;
#[cfg(feature = "sql")]
use evenkeel_protocol::queue::steps::Revoked;
use evenkeel_protocol::queue::steps::{ITEMS_MAX, Purge, ReadStats};

impl Topic {
    /// Deletes all waiting jobs or all dead letters permanently: as many as there are when it begins, so that the purge of a busy topic
    /// ends. The caller confirms it by repeating the topic's name. Running jobs cannot be purged.
    ///
    /// Returns the number of deleted jobs.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] with a wrong name, or for running jobs; [`QueueError::NeedsDatabase`]: nothing was deleted.
    /// [`QueueError::Link`], [`QueueError::Database`]: some jobs were deleted; repeat the call. A shard or a row that is rejected stops no
    /// other: the jobs of the others were deleted, and the first error is returned.
    pub async fn purge(&self, state: JobState, topic_again: &str) -> Result<u64, QueueError> {
        if topic_again != &*self.name {
            return Err(QueueError::Invalid(format!(
                "a purge deletes jobs permanently; to confirm, repeat the topic's name: {}",
                self.name
            )));
        }
        if state == JobState::Leased {
            let message = "running jobs cannot be purged; pause the topic and wait until they have ended";
            return Err(QueueError::Invalid(message.to_owned()));
        }
        self.check_rows()?;
        #[cfg(feature = "sql")]
        if self.rows.is_some() {
            return self.purge_rows(state).await;
        }
        let (mut deleted, mut tried) = (0, Tried::unless(QueueError::is_retryable));
        for shard in self.router.look().await?.iter() {
            let Some(stats) = tried.note(self.store.run(shard, &ReadStats).await)? else { continue };
            for stored in state.states_in_store() {
                let mut left = super::stats::count(&stats, stored);
                while left > 0 {
                    let limit = usize::try_from(left).unwrap_or(ITEMS_MAX).min(ITEMS_MAX);
                    let some = tried.note(self.store.run(shard, &Purge { state: stored, limit }).await)?.unwrap_or(0);
                    deleted += some;
                    left = left.saturating_sub(some);
                    if some == 0 {
                        break; // another call has emptied it, or it was rejected
                    }
                }
            }
        }
        tried.finish().map(|()| deleted)
    }

    /// The same where rows decide: each row ends before its job leaves the store. Waiting jobs include those that are not in the store.
    #[cfg(feature = "sql")]
    async fn purge_rows(&self, state: JobState) -> Result<u64, QueueError> {
        let Some(rows) = &self.rows else { return Ok(0) };
        let mut tried = Tried::unless(QueueError::is_retryable);
        let mut deleted = if state == JobState::Waiting { rows.purge_waiting(&mut tried).await? } else { 0 };
        let mut left = 0;
        for shard in self.router.look().await?.iter() {
            let Some(stats) = tried.note(self.store.run(shard, &ReadStats).await)? else { continue };
            left += state.states_in_store().into_iter().map(|stored| super::stats::count(&stats, stored)).sum::<u64>();
        }
        if state == JobState::Dead {
            // Includes dead letters that exist only as rows; counting others twice only raises the bound.
            left += rows.count_dead().await?;
        }
        let mut after = None;
        while left > 0 {
            let page = PageOf { state, from: after, limit: ITEMS_MAX, descends: false };
            let listed = match state {
                JobState::Dead => self.listed(page, &mut tried).await?,
                _ => self.list_of_store(page, &mut tried).await?,
            };
            let Some(last) = listed.last() else { break };
            after = Some(*last);
            left = left.saturating_sub(listed.len() as u64);
            if state == JobState::Dead {
                for listed in listed {
                    deleted += u64::from(tried.note(rows.delete_dead(listed.id).await)?.unwrap_or(false));
                }
            } else {
                // Ticks of schedules, and jobs in the store without a live row.
                let ids: Vec<_> = listed.iter().map(|listed| listed.id).collect();
                let revoked = tried.note(self.revoke(&rows.without_row(&ids).await?).await)?;
                for answer in revoked.into_iter().flatten() {
                    deleted += u64::from(matches!(answer, Revoked::Revoked | Revoked::RevokedAfterLeaseExpiry));
                }
            }
        }
        tried.finish().map(|()| deleted)
    }
}
