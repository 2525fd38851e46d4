//! The streams of a [`Keel`].

use super::Keel;
use crate::stream::admin::{Listing, StreamAdmin};
use crate::stream::{StreamBuilder, StreamError};
use std::sync::Arc;

/// Streams; see the module [`stream`](crate::stream).
impl Keel {
    /// Begins a stream called `name`: 1 to 128 letters, digits, `-`, `_` or `.`, the same in every process of the fleet.
    ///
    /// A name stands for a kind of entries. The store keeps each name forever, so put a tenant or a user into the key instead.
    pub fn stream<T>(&self, name: &str) -> StreamBuilder<T> {
        StreamBuilder::new(Arc::clone(&self.0.stores.streams), name)
    }

    /// The operator's handle on the stream `name`. A program that appends or handles its entries opens it with
    /// [`stream`](Self::stream) instead.
    ///
    /// # Errors
    /// [`StreamError::Unknown`]: no program has opened a stream of this name on this store, under this prefix.
    pub async fn stream_admin(&self, name: &str) -> Result<StreamAdmin, StreamError> {
        StreamAdmin::open(&self.0.stores.streams, name).await
    }

    /// All streams that programs have opened, by name. One that cannot be read hides no other, see [`Listing::rejected`].
    ///
    /// # Errors
    /// [`StreamError::Link`]: Redis is unavailable, or rejects the register of streams.
    pub async fn streams(&self) -> Result<Listing<StreamAdmin, StreamError>, StreamError> {
        StreamAdmin::all(&self.0.stores.streams).await
    }
}
