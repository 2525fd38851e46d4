//! Emptying a place.

use super::{Place, Topic};
use crate::queue::error::QueueError;
use crate::queue::steps::{ITEMS_MAX, QueueSteps};

impl Topic {
    /// Deletes what waits, or all dead letters: as many as there are when it begins, so that one which fills up meanwhile does not
    /// keep it going. Nobody can bring them back, so the caller says the topic's name again. Running jobs cannot be purged.
    ///
    /// Answers how many were deleted.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] without the right name, or for running jobs; nothing was deleted. [`QueueError::Link`]: some were;
    /// repeat it.
    pub async fn purge(&self, place: Place, topic_again: &str) -> Result<u64, QueueError> {
        if topic_again != &*self.name {
            return Err(QueueError::Invalid(format!(
                "a purge deletes jobs for good; to confirm, give the topic's name again: {}",
                self.name
            )));
        }
        if place == Place::Leased {
            let words = "running jobs cannot be purged; pause the topic and let their leases end";
            return Err(QueueError::Invalid(words.to_owned()));
        }
        let mut deleted = 0;
        for shard in self.router.look().await?.iter() {
            let stats = self.store.stats(shard).await?;
            for state in place.states() {
                let mut left = super::stats::count(&stats, state);
                while left > 0 {
                    let limit = usize::try_from(left).unwrap_or(ITEMS_MAX).min(ITEMS_MAX);
                    let some = self.store.purge(shard, state, limit).await?;
                    deleted += some;
                    left = left.saturating_sub(some);
                    if some == 0 {
                        break; // somebody else emptied it
                    }
                }
            }
        }
        Ok(deleted)
    }
}
