//! [`StreamBuilder`]: opens a stream.

use super::Settings;
#[cfg(feature = "sql")]
use crate::sql::sink::appends::TOPIC_PREFIX;
use crate::stream::base::Base;
use crate::stream::metrics::StreamMetrics;
use crate::stream::sending::producers::Producers;
#[cfg(feature = "sql")]
use crate::stream::sql::{SqlTable, StreamTable, add_known_groups, ask, ensure_created};
use crate::stream::store::StreamStore;
use crate::stream::store::streams::Streams;
use crate::stream::stream::{Core, Stream};
use evenkeel_link::support::{guard, in_groups};
use evenkeel_protocol::codec::json::Json;
use evenkeel_protocol::codec::{Codec, check_id};
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::{Partition, check_addressable};
use evenkeel_protocol::stream::register::StreamRecord;
use evenkeel_protocol::stream::steps::Open;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// The settings of a stream, before it is opened. Every setting has a default. [`open`](Self::open) is the last call.
#[must_use = "a builder does nothing until `open`"]
pub struct StreamBuilder<T, C = Json> {
    streams: Arc<Streams>,
    name: String,
    settings: Settings,
    codec: C,
    #[cfg(feature = "sql")]
    table: Option<Arc<dyn StreamTable>>,
    value: PhantomData<fn() -> T>,
}

impl<T> StreamBuilder<T> {
    pub(crate) fn new(streams: Arc<Streams>, name: &str) -> Self {
        Self {
            streams,
            name: name.to_owned(),
            settings: Settings::default(),
            codec: Json,
            #[cfg(feature = "sql")]
            table: None,
            value: PhantomData,
        }
    }
}

impl<T, C> StreamBuilder<T, C> {
    setters! {
        /// The number of partitions: in how many parts the keys are divided, and therefore how many processes can handle entries in order. 1 to
        /// 256. Default: the number that the stream already has, else 1. It cannot be changed later, because keys would change their
        /// partition: [`open`](Self::open) fails for another number.
        pub fn partitions(partitions: u16) => settings.partitions = Some(partitions);

        /// The largest encoded value; larger ones are rejected with [`StreamError::TooLarge`]. Default 1,047,552 bytes, at most 1 MiB together
        /// with headers and trace context.
        pub fn value_bytes_max(bytes: usize) => settings.value_bytes_max = bytes;

        /// The maximum number of entries of the stream, divided evenly among the partitions; above it an append fails with
        /// [`StreamError::Full`]. Default: none.
        pub fn entries_max(entries: u64) => settings.entries_max = Some(entries);

        /// How long the last number of a producer is stored after its last append. Within this time an append that is repeated is recognized.
        /// Default 1 h.
        pub fn producer_window(window: Duration) => settings.producer_window = window;

        /// How long entries are kept at least, for replays. Consumers remove older ones that every group has settled. Default 24 h.
        pub fn retention(age: Duration) => settings.retention = age;

        /// Opens the stream on a Redis that may evict keys. Eviction loses entries, and how far groups have come, without an error.
        pub fn allow_eviction() => settings.may_evict = true;
    }

    /// The codec of the values. Default [`Json`]. Each entry records the codec that encoded it, so the codec of a stream may change. A custom
    /// codec has an id from 64 to 127.
    pub fn codec<D: Codec<T>>(self, codec: D) -> StreamBuilder<T, D> {
        StreamBuilder {
            streams: self.streams,
            name: self.name,
            settings: self.settings,
            codec,
            #[cfg(feature = "sql")]
            table: self.table,
            value: PhantomData,
        }
    }

    /// Registers the stream in the database of `pool`, so that a Redis that loses the stream (a flush, a failover) does not lose the entries
    /// of the units of work in that database. Their rows are kept until every group has settled them, and so is how far each group has come.
    /// A program that finds the stream missing creates it again, ids go on above what the groups have settled, and the relay sends the kept
    /// entries again. [`migrate`](crate::sql::migrate) must have run.
    ///
    /// Every program that opens the stream must set the same database, which must also be that of the units of work. Entries are kept from
    /// the first call on. Consumers remove them within minutes after all groups have settled them; without consumers they are kept forever.
    ///
    /// **Not guaranteed.** That an entry is handled once: after a loss, settled entries that were still kept are delivered again, under other
    /// ids. That entries that were appended without a unit of work survive, or dead letters, delays and counts of attempts; [`losses`]
    /// has their numbers. The order between entries that are sent again and those that other programs append meanwhile.
    ///
    /// [`losses`]: crate::stream::admin::StreamAdmin::losses
    #[cfg(feature = "sql")]
    pub fn sql<DB: crate::sql::Database>(mut self, pool: &sqlx::Pool<DB>) -> Self {
        self.table = Some(Arc::new(SqlTable(DB::erased(pool))));
        self
    }
}

impl<T: Send + Sync + 'static, C: Codec<T>> StreamBuilder<T, C> {
    /// Opens the stream: registers it, and creates its partitions.
    ///
    /// # Errors
    /// [`StreamError::Settings`]: one sentence that names the invalid setting and the change to make; for example, the stream has another
    /// number of partitions, or the server evicts keys. [`StreamError::Invalid`]: the name. [`StreamError::Link`]: the server could not be reached.
    /// [`StreamError::Database`]: the database of `sql` could not be reached, or lacks the tables.
    pub async fn open(self) -> Result<Stream<T>, StreamError> {
        let settings = self.settings;
        settings.check(&self.name)?;
        check_server(&self.streams.store, &self.name, &settings).await?;
        // Checks the name before anything is stored under it.
        Partition::new("", &self.name, 0)?;
        check_addressable("stream", &self.name)?;
        if let Err(reason) = check_id(&self.codec, guard("stream_codec_id_checked")) {
            return Err(StreamError::Settings { stream: self.name, reason });
        }
        let register = self.streams.store.register();
        let partitions = settings.partitions.unwrap_or(1);
        #[cfg(feature = "sql")]
        let partitions = match &self.table {
            None => partitions,
            Some(table) => {
                self.streams.databases.add(Arc::clone(table));
                let known = register.get(&self.name).await?.map_or(partitions, |record| record.partitions);
                ask(table.register(&format!("{TOPIC_PREFIX}{}", self.name), known)).await?
            }
        };
        let requested = StreamRecord { partitions, codec: self.codec.id(), incarnation: None };
        let record = register.register(&self.name, &requested).await?;
        if record.codec != requested.codec {
            tracing::warn!(
                stream = self.name,
                was = record.codec,
                is = requested.codec,
                "the stream is opened with another codec than before; each entry is decoded by its own"
            );
        }
        let base = Base::new(&self.streams, &self.name, record)?;
        let count = base.record.partitions;
        if settings.partitions.is_some_and(|partitions| partitions != count) && guard("stream_partitions_kept") {
            return base.refuse(format!("it has {count} partitions; set `partitions({count})`, or leave it unset"));
        }
        #[cfg(feature = "sql")]
        if let Some(table) = &self.table {
            if partitions != count {
                return base.refuse(format!(
                    "it has {count} partitions in Redis and {partitions} in the database: one of them belongs to another stream of this name"
                ));
            }
            ensure_created(&base, &**table).await?;
            add_known_groups(&base, &**table).await?;
        }
        let open = Open { groups: Vec::new(), last: EntryId::MIN };
        let opening = base.partitions.iter().map(|partition| base.store.run(partition, &open));
        for opened in in_groups(base.store.together_max(), opening).await {
            opened?;
        }
        Ok(Stream::new(Core {
            metrics: StreamMetrics::register(&base.name),
            producers: base.partitions.iter().map(|_| Producers::default()).collect(),
            base: Arc::new(base),
            codec: Arc::new(self.codec),
            settings,
        }))
    }
}

/// Rejects a server that evicts keys.
async fn check_server(store: &StreamStore, stream: &str, settings: &Settings) -> Result<(), StreamError> {
    let Some(link) = store.link().filter(|_| !settings.may_evict) else { return Ok(()) };
    match link.eviction_policy().await? {
        Some(policy) => Err(StreamError::Settings {
            stream: stream.to_owned(),
            reason: format!(
                "the server at {} evicts keys when it is full (maxmemory-policy {policy}), which loses entries and groups; set it to \
                 noeviction, use another server, or set `allow_eviction()`",
                link.address()
            ),
        }),
        None => Ok(()),
    }
}
