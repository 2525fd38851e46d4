//! [`Source`]: the Redis with a prefix, and the database, that a console shows.

mod searches;

pub(crate) use crate::operations::failure::{cache_problem, queue_problem, sql_problem, stream_problem};
pub(crate) use searches::Searches;

use crate::address::Address;
use crate::database::{Database, on};
use crate::operations::unregister;
use evenkeel::Keel;
use evenkeel::queue::topic::Topic;
use evenkeel::sql::SqlError;
use evenkeel::sql::relay::operate::{Outbox, OutboxStats, SeenKey, SeenWork, WorkState};
use evenkeel::stream::admin::{DeadLetters, StreamAdmin};
use web::Problem;

/// See the module.
pub(crate) struct Source {
    name: String,
    pub(crate) keel: Keel,
    pub(crate) database: Option<Database>,
    addresses: Vec<Address>,
    pub(crate) searches: Searches,
}

/// Parked things of a page.
const PARKED_MAX: u32 = 100;

/// What waits for an operator.
pub(crate) struct Parked {
    pub(crate) units: Vec<SeenWork>,
    pub(crate) keys: Vec<SeenKey>,
    pub(crate) messages: Vec<evenkeel::sql::Parked>,
}

impl Source {
    pub(crate) fn new(keel: Keel, database: Option<Database>) -> Self {
        let name = keel.link().map_or_else(|| "memory".to_owned(), |link| link.prefix().to_owned());
        Self::named(name, keel, database)
    }

    /// A source with a name of its own.
    pub(crate) fn named(name: impl Into<String>, keel: Keel, database: Option<Database>) -> Self {
        Self { name: name.into(), keel, database, addresses: Vec::new(), searches: Searches::default() }
    }

    /// With the addresses of its servers.
    pub(crate) fn at(self, addresses: impl Iterator<Item = Address>) -> Self {
        Self { addresses: addresses.collect(), ..self }
    }

    /// The addresses of its servers; none for an embedded store.
    pub(crate) fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// What the pages call it: the prefix.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A topic, with its rows if they are in the database.
    pub(crate) async fn topic(&self, name: &str) -> Result<Topic, Problem> {
        let topic = self.keel.topic(name).await.map_err(queue_problem)?;
        Ok(match &self.database {
            Some(database) if topic.needs_database() => on!(database, pool => topic.sql(pool)),
            _ => topic,
        })
    }

    /// A stream.
    pub(crate) async fn stream(&self, name: &str) -> Result<StreamAdmin, Problem> {
        self.keel.stream_admin(name).await.map_err(stream_problem)
    }

    /// The dead letters of a group of a stream.
    pub(crate) async fn letters(&self, stream: &str, group: &str) -> Result<DeadLetters, Problem> {
        let stream = self.stream(stream).await?;
        unregister::group(&stream, group).await?;
        stream.dead(group).map_err(stream_problem)
    }
}

impl Database {
    /// What waits for an operator, at most [`PARKED_MAX`] of each kind.
    pub(crate) async fn parked(&self, keel: &Keel) -> Result<Parked, SqlError> {
        on!(self, pool => {
            let outbox = Outbox::new(pool);
            let units = outbox.units(WorkState::Parked, None, PARKED_MAX as usize).await?;
            let keys = outbox.keys(true, (String::new(), String::new()), PARKED_MAX as usize).await?;
            Ok(Parked { units, keys, messages: keel.inbox(pool).parked(PARKED_MAX).await? })
        })
    }

    pub(crate) async fn outbox_stats(&self) -> Result<OutboxStats, SqlError> {
        on!(self, pool => Outbox::new(pool).stats().await)
    }
}
