//! Writes of [`Cache`] in an update window, from its begin to its end.

use super::window::{OpenWindow, WindowEnd, WriteWindow};
use crate::cache::cache::Cache;
use crate::cache::key::{CacheKey, KeyBytes};
use crate::cache::key_of::KeyOf;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
use std::collections::HashSet;
use std::future::Future;
use tracing::Instrument;

/// The result of a write, and how its update window ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Written<T> {
    /// What the closure returned.
    pub value: T,
    /// Whether the window was open until after the commit. The write has happened in every case.
    pub window: WindowEnd,
}

/// Why a write failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError<E> {
    /// No window could be opened, so the closure was not run and nothing was written. (The store is unavailable, or
    /// [`CacheError::WritersBusy`].)
    #[error("nothing was written, because no update window could be opened: {0}")]
    NotBegun(#[source] CacheError),
    /// The closure failed. Only the closure knows whether its transaction committed: unless it called
    /// [`OpenWindow::rolled_back`], the window is left to expire.
    #[error("the write failed: {0}")]
    Failed(#[source] E),
}

impl<K: ?Sized, V: Send + Sync + 'static> Cache<K, V> {
    /// Runs `write`, which changes the row under `key`, in an update window.
    /// [`Freshness::Fresh`](crate::cache::Freshness::Fresh) reads depend on these windows.
    ///
    /// The window is open, and confirmed by the store, before `write` is called. It is renewed while `write` runs, and ended
    /// when `write` has returned `Ok`; every end invalidates. If `write` returns an error, or this call is dropped, the outcome
    /// of the transaction is unknown: the window is left to expire (`write_window`), and for `transaction_max` after that,
    /// stored values have a short ttl.
    ///
    /// **Guarantee (C2)**, if [`Written::window`] is `Closed`: from the commit on, no `Fresh` read returns an older value.
    /// **Not guaranteed.** That `write` ends before its window expires: it may be paused or lose the connection to the store.
    /// Use [`write_with`](Self::write_with) and [`OpenWindow::check`] to check right before the commit, or check
    /// [`Written::window`] afterwards. A closure that blocks its thread prevents the renewal of its window.
    ///
    /// # Errors
    /// [`WriteError`]; only its `Failed` means that `write` was run.
    pub async fn write<Q, F, Write, T, E>(&self, key: &Q, write: F) -> Result<Written<T>, WriteError<E>>
    where
        Q: KeyOf<K> + ?Sized,
        F: FnOnce() -> Write,
        Write: Future<Output = Result<T, E>>,
    {
        self.write_with(key, |_| write()).await
    }

    /// Like [`write`](Self::write), for a closure that uses its window: [`OpenWindow::check`] right before the commit, and
    /// [`OpenWindow::rolled_back`] if it failed without having written anything.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub async fn write_with<Q, F, Write, T, E>(&self, key: &Q, write: F) -> Result<Written<T>, WriteError<E>>
    where
        Q: KeyOf<K> + ?Sized,
        F: FnOnce(OpenWindow) -> Write,
        Write: Future<Output = Result<T, E>>,
    {
        let written = async {
            let window = self.begin_write(key).await.map_err(WriteError::NotBegun)?;
            run(window, write).await
        };
        // Boxed, so that its caller does not carry the state of a whole transaction.
        Box::pin(self.traced_write(written)).await
    }

    /// Like [`write_with`](Self::write_with), for a transaction that changes several rows of this cache: one window over all of
    /// them, or none.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub async fn write_many<'k, F, Write, T, E>(
        &self,
        keys: impl IntoIterator<Item = &'k K>,
        write: F,
    ) -> Result<Written<T>, WriteError<E>>
    where
        K: CacheKey + 'k,
        F: FnOnce(OpenWindow) -> Write,
        Write: Future<Output = Result<T, E>>,
    {
        let written = async {
            let window = self.begin_write_many(keys).await.map_err(WriteError::NotBegun)?;
            run(window, write).await
        };
        Box::pin(self.traced_write(written)).await
    }

    async fn traced_write<T, E>(
        &self,
        write: impl Future<Output = Result<Written<T>, WriteError<E>>>,
    ) -> Result<Written<T>, WriteError<E>> {
        let span = tracing::debug_span!("cache.write", cache = &*self.core.name, window = tracing::field::Empty);
        let traced = async {
            let written = write.await?;
            tracing::Span::current().record("window", tracing::field::debug(&written.window));
            Ok(written)
        };
        traced.instrument(span).await
    }

    /// Opens an update window for the row under `key`, for a writer that manages its own transaction. Send the first statement
    /// only after this has returned. [`WriteWindow`] documents the next steps.
    ///
    /// # Errors
    /// [`CacheError::WritersBusy`] for a fifth writer, [`CacheError::Link`] if the store is unavailable,
    /// [`CacheError::WindowNotReplicated`] if too few replicas had the window in time: nothing may be written then.
    pub async fn begin_write<Q>(&self, key: &Q) -> Result<WriteWindow, CacheError>
    where
        Q: KeyOf<K> + ?Sized,
    {
        self.core.begin_write(vec![KeyBytes::new(key)]).await
    }

    /// Like [`begin_write`](Self::begin_write), for several rows that one transaction changes: all of them, or none. Writers
    /// never wait for each other, so the order of the keys does not matter.
    ///
    /// # Errors
    /// As [`begin_write`](Self::begin_write).
    pub async fn begin_write_many<'k>(&self, keys: impl IntoIterator<Item = &'k K>) -> Result<WriteWindow, CacheError>
    where
        K: CacheKey + 'k,
    {
        let mut seen = HashSet::new();
        let keys = keys.into_iter().map(KeyBytes::new);
        let keys: Vec<KeyBytes> = keys.filter(|key| seen.insert(Box::<[u8]>::from(key.as_slice()))).collect();
        self.core.begin_write(keys).await
    }
}

async fn run<F, Write, T, E>(window: WriteWindow, write: F) -> Result<Written<T>, WriteError<E>>
where
    F: FnOnce(OpenWindow) -> Write,
    Write: Future<Output = Result<T, E>>,
{
    let open = window.watch();
    let written = {
        let mut writing = std::pin::pin!(write(open.clone()));
        tokio::select! {
            biased;
            written = &mut writing => written,
            // The window is lost. The write continues: part of it may have happened, and only the writer knows.
            () = window.keep_open() => writing.await,
        }
    };
    match written {
        Ok(value) => Ok(Written { value, window: window.end().await }),
        Err(error) => {
            if open.is_rolled_back() || !guard("unknown_write_expires") {
                window.end().await;
            } else {
                window.abandon();
            }
            Err(WriteError::Failed(error))
        }
    }
}
