//! What producers, consumers and operators of one stream share.

use super::store::StreamStore;
use super::store::streams::Streams;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Recurring, guard};
use evenkeel_protocol::rejection::Listing;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::{GroupName, Partition};
use evenkeel_protocol::stream::register::StreamRecord;
use evenkeel_protocol::stream::steps::{GroupSpec, Mode, Open, Opened, Position};
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
    /// The failures that were logged.
    pub(crate) failing: Recurring,
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
            failing: Recurring::default(),
        })
    }

    /// The registered groups, by name.
    pub(crate) async fn groups(&self) -> Result<Listing<(GroupName, Mode), StreamError>, StreamError> {
        let groups = self.store.register().groups(&self.name).await?;
        #[cfg(feature = "sql")]
        if let Some(table) = self.table().await?
            && guard("stream_groups_of_the_database")
        {
            let Listing { found, rejected } = groups;
            let mut found: std::collections::BTreeMap<GroupName, Mode> = found.into_iter().collect();
            let rows = super::sql::ask(table.groups(&self.topic())).await?;
            found.extend(rows.into_iter().map(|row| (row.group, row.mode)));
            return Ok(Listing { found: found.into_iter().collect(), rejected });
        }
        Ok(groups)
    }

    /// Creates a partition that Redis has lost, with all registered groups. They begin with its first entry: whatever the new log has,
    /// no group has read. A stream that is registered in a database is created again from there as a whole.
    pub(crate) async fn create_again(&self, partition: &Partition) -> Result<(), StreamError> {
        #[cfg(feature = "sql")]
        if let Some(table) = self.table().await? {
            return super::sql::create_again(self, &*table, partition).await;
        }
        if self.record.incarnation.is_some() && guard("stream_left_to_its_database") {
            return Err(StreamError::Database {
                reason: "Redis has lost the stream, or a part of it, and this program does not know the database: a program that opens it \
                         with `sql` creates it again"
                    .to_owned(),
                is_retryable: true,
            });
        }
        let register = self.store.register();
        register.register(&self.name, &self.record).await?;
        let specs: Vec<GroupSpec> = register
            .groups(&self.name)
            .await?
            .found
            .into_iter()
            .map(|(name, mode)| GroupSpec { name, position: Position::After(EntryId::MIN), mode })
            .collect();
        self.open_again(partition, &specs, EntryId::MIN).await?;
        tracing::warn!(
            stream = %self.name, ?partition,
            "the partition or one of its groups was missing (was Redis flushed?) and has been created again; entries that Redis has lost are lost"
        );
        counter!("evenkeel_stream_recreated_total", "stream" => Arc::clone(&self.name)).increment(1);
        Ok(())
    }

    /// Opens a partition with groups that are registered. One that exists in part is not created: nothing says what its consumers have
    /// handled.
    pub(crate) async fn open_again(
        &self,
        partition: &Partition,
        specs: &[GroupSpec],
        last: EntryId,
    ) -> Result<(), StreamError> {
        let opened = self.store.run(partition, &Open { groups: specs.to_vec(), last }).await?;
        let refused = specs.iter().zip(opened).find(|(_, opened)| *opened == Opened::Refused);
        let Some((GroupSpec { name, .. }, _)) = refused else { return Ok(()) };
        let tag = partition.tag();
        self.refuse(format!(
            "the consumer group {name:?} is in {tag}:log, but its state in {tag}:g:{name} is missing or has another order: another program, or an \
             eviction, has removed that key, or another program has made the group; its entries are not handled. To handle again what the log \
             still has, remove the group: XGROUP DESTROY {tag}:log {name}"
        ))
    }

    pub(crate) fn refuse<T>(&self, reason: impl Into<String>) -> Result<T, StreamError> {
        Err(StreamError::Settings { stream: self.name.to_string(), reason: reason.into() })
    }
}
