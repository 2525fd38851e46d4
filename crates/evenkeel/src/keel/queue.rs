//! The queues of a [`Keel`].

use super::Keel;
use crate::queue::topic::{Listing, Topic};
use crate::queue::{QueueBuilder, QueueError};
use std::sync::Arc;

/// Queues; see the module [`queue`](crate::queue).
impl Keel {
    /// Begins a queue called `name`: 1 to 64 letters, digits, `-`, `_` or `.`, the same in every process of the fleet.
    ///
    /// A name stands for a kind of work. The store keeps each name forever, with its pause, its limits and its shards, so put a tenant or
    /// a user into the job instead.
    pub fn queue<T>(&self, name: &str) -> QueueBuilder<T> {
        QueueBuilder::new(Arc::clone(&self.0.stores.queues), name)
    }

    /// The operator's handle on the topic `name`. A program that sends or handles its jobs opens it with [`queue`](Self::queue)
    /// instead.
    ///
    /// # Errors
    /// [`QueueError::UnknownTopic`]: no program has opened a queue of this name on this store, under this prefix.
    pub async fn topic(&self, name: &str) -> Result<Topic, QueueError> {
        Topic::open(&self.0.stores.queues, name).await
    }

    /// All topics that programs have opened, by name. One that cannot be read hides no other, see [`Listing::rejected`].
    ///
    /// # Errors
    /// [`QueueError::Link`]: Redis is unavailable, or rejects the register of topics.
    pub async fn topics(&self) -> Result<Listing<Topic, QueueError>, QueueError> {
        Topic::all(&self.0.stores.queues).await
    }
}
