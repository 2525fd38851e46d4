//! What producers, consumers and operators of one stream share.

use super::store::StreamStore;
use super::store::streams::Streams;
use evenkeel_link::clock::Clock;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::Partition;
use evenkeel_protocol::stream::register::StreamRecord;
use evenkeel_protocol::stream::steps::{GroupSpec, Position};
use metrics::counter;
use std::sync::Arc;

/// A stream, without the type of its entries.
pub(crate) struct Base {
    pub(crate) name: Arc<str>,
    pub(crate) record: StreamRecord,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) store: StreamStore,
    pub(crate) streams: Arc<Streams>,
    pub(crate) clock: Clock,
}

impl Base {
    pub(crate) fn new(streams: &Arc<Streams>, name: &str, record: StreamRecord) -> Result<Self, StreamError> {
        let store = streams.store.clone();
        Ok(Self {
            name: name.into(),
            partitions: store.partitions(name, record.partitions)?,
            record,
            store,
            streams: Arc::clone(streams),
            clock: streams.clock.clone(),
        })
    }

    /// Creates a partition that Redis has lost, with all registered groups. They begin with its first entry: whatever the new log has,
    /// no group has read.
    pub(crate) async fn create_again(&self, partition: &Partition) -> Result<(), StreamError> {
        let register = self.store.register();
        register.register(&self.name, &self.record).await?;
        let specs: Vec<GroupSpec> = register
            .groups(&self.name)
            .await?
            .into_iter()
            .map(|(name, mode)| GroupSpec { name, position: Position::After(EntryId::MIN), mode })
            .collect();
        self.store.open(partition, &specs, EntryId::MIN).await?;
        tracing::warn!(
            stream = %self.name, ?partition,
            "the partition or one of its groups was missing (was Redis flushed?) and has been created again; entries that Redis has lost are lost"
        );
        counter!("evenkeel_stream_recreated_total", "stream" => Arc::clone(&self.name)).increment(1);
        Ok(())
    }

    pub(crate) fn refuse<T>(&self, reason: impl Into<String>) -> Result<T, StreamError> {
        Err(StreamError::Settings { stream: self.name.to_string(), reason: reason.into() })
    }
}
