//! Adds the entries of the stream to the counters in the database, each once.

use super::Clicks;
use super::metrics::ClickMetrics;
use super::stream::ClickEntry;
use crate::domain::ClickCounts;
use crate::store::{StoreError, Writer};
use evenkeel::stream::{Batch, BatchHandled, Entry, Handled, Reaction, StreamError};
use std::sync::Arc;
use std::time::Duration;
use tracing::error;

/// The consumer group.
const GROUP: &str = "counters";

/// Entries of one transaction, and of one instance at a time. Short transactions, so that redirects that need this
/// process or the database in the meantime wait less.
const BATCH: usize = 4;

/// How long a batch waits for more entries.
const FILL: Duration = Duration::from_millis(100);

/// After this time the entries of a dead instance go to another one.
const LEASE: Duration = Duration::from_secs(10);

/// How long all instances wait after the database has failed.
const OUTAGE_PAUSE: Duration = Duration::from_secs(1);

/// How long a batch in progress may take at shutdown, and how long a process without Redis continues to fold what it has appended.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// Pause between attempts to open the stream while Redis is unreachable.
const OPEN_PAUSE: Duration = Duration::from_secs(1);

impl Clicks {
    /// Folds entries until `shutdown`.
    ///
    /// # Errors
    /// [`StreamError`] that a retry does not help.
    pub(in crate::service) async fn fold(
        &self,
        writer: Writer,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), StreamError> {
        let inner = &self.0;
        tokio::pin!(shutdown);
        let stream = loop {
            match inner.stream.get().await {
                Ok(stream) => break stream,
                Err(error) if error.is_retryable() => {}
                Err(error) => return Err(error),
            }
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                () = inner.clock.sleep(OPEN_PAUSE) => {}
            }
        };
        let metrics = Arc::clone(&inner.metrics);
        // The order of clicks does not matter. Malformed entries are dead letters, so an error is one of the database: its outage may last.
        let group = stream.group(GROUP).unordered().lease(LEASE).retry_forever();
        let consumer = group.handle_batch(BATCH, move |batch: Batch<ClickEntry>| {
            let (writer, metrics) = (writer.clone(), Arc::clone(&metrics));
            async move { fold(&batch.entries, &writer, &metrics).await }
        });
        let consumer = consumer.concurrency(BATCH).fill(FILL).drain(DRAIN_MAX);
        let consumer = consumer.on_error(|_: &StoreError| Reaction::PauseGroup(OUTAGE_PAUSE));
        let end = async {
            shutdown.await;
            if inner.stream.is_embedded() {
                // No other instance has these entries.
                let _ = inner.clock.timeout(DRAIN_MAX, inner.metrics.all_folded()).await;
            }
        };
        consumer.run(end).await
    }
}

/// Folds a batch in one transaction. A malformed entry becomes a dead letter; the others are not affected.
async fn fold(
    entries: &[Entry<ClickEntry>],
    writer: &Writer,
    metrics: &ClickMetrics,
) -> Result<BatchHandled<StoreError>, StoreError> {
    let (mut valid, mut handled) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
    for entry in entries {
        handled.push(match entry.value.delta() {
            Ok(delta) => {
                valid.push(delta);
                Ok(Handled::Done)
            }
            Err(problem) => Ok(Handled::Dead(problem.to_owned())),
        });
    }
    let added = writer.fold_clicks(&valid).await?;
    for (entry, handled) in entries.iter().zip(&handled) {
        if let Ok(Handled::Dead(problem)) = handled {
            error!(id = %entry.id, partition = entry.partition, problem, "malformed clicks are not counted; see the dead letters of the stream");
        }
    }
    metrics.folded(entries.iter().map(|entry| entry.value.counts()).sum::<ClickCounts>().all(), added);
    Ok(BatchHandled::Each(handled))
}
