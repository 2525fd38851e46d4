//! Adds the entries of the stream to the counters in the database, each once.

use super::Clicks;
use super::metrics::ClickMetrics;
use super::stream::ClickEntry;
use crate::domain::{ClickCounts, Code, DayNumber};
use crate::store::{ClickDelta, StoreError, Writer};
use evenkeel::stream::{Batch, BatchHandled, Entry, Handled, Reaction, StreamError};
use std::sync::Arc;
use std::time::Duration;

/// The consumer group.
const GROUP: &str = "counters";

/// Entries of one transaction, and of one instance at a time.
const BATCH: usize = 256;

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
        // The order of clicks does not matter, and no error is one of the entries': an outage of the database may last.
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

/// Folds a batch in one transaction.
async fn fold(
    entries: &[Entry<ClickEntry>],
    writer: &Writer,
    metrics: &ClickMetrics,
) -> Result<BatchHandled<StoreError>, StoreError> {
    let deltas: Vec<Option<ClickDelta>> = entries.iter().map(delta).collect();
    let valid: Vec<ClickDelta> = deltas.iter().flatten().cloned().collect();
    let added = writer.fold_clicks(&valid).await?;
    metrics.folded(entries.iter().map(|entry| entry.value.people + entry.value.bots).sum(), added);
    let result = |delta: &Option<ClickDelta>| match delta {
        Some(_) => Ok(Handled::Done),
        None => Ok(Handled::Dead("the key is not the code of a link".to_owned())),
    };
    Ok(BatchHandled::Each(deltas.iter().map(result).collect()))
}

/// What an entry adds; `None` if its key is no code.
fn delta(entry: &Entry<ClickEntry>) -> Option<ClickDelta> {
    let code = Code::parse(std::str::from_utf8(&entry.key).ok()?).ok()?;
    let ClickEntry { source, number, day, people, bots } = &entry.value;
    let counts = ClickCounts { people: *people, bots: *bots };
    Some(ClickDelta { entry: format!("{source}/{number}"), code, day: DayNumber(*day), counts })
}
