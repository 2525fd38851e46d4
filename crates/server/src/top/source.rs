//! [`Source`]: reads the table of a tab.

use super::Tab;
use crate::connect::Servers;
use crate::database::Database;
use crate::listing::Listing;
use crate::process::tables;
use crate::time;
use crate::{outbox, queue, stream};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::HashMap;

/// The servers that the tabs are read from.
pub(crate) struct Source<'a> {
    servers: &'a Servers<'a>,
    /// Only these topics, if there are any.
    topics: &'a [String],
    /// Connected at the first reading, and kept.
    database: Option<Database>,
    /// Of each topic the time and the number of completed jobs at the previous refresh.
    done_before: HashMap<String, (u64, u64)>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(servers: &'a Servers<'a>, topics: &'a [String]) -> Self {
        Self { servers, topics, database: None, done_before: HashMap::new() }
    }

    /// Reads the table of a tab.
    pub(super) async fn read(&mut self, tab: Tab) -> Result<Listing> {
        let keel = &self.servers.keel;
        match tab {
            Tab::Topics => queue::listing(self.servers, self.topics).await,
            Tab::Streams => stream::listing(keel).await,
            Tab::Caches => tables::caches(keel).await,
            Tab::Locks => tables::locks(keel).await,
            Tab::Processes => tables::processes(keel).await,
            Tab::Outbox => outbox::listing(self.database().await?).await,
        }
    }

    /// As [`read`](Self::read), with the jobs of each topic that were completed per second since the previous refresh.
    pub(super) async fn refresh(&mut self, tab: Tab) -> Result<Listing> {
        let mut listing = self.read(tab).await?;
        if tab == Tab::Topics {
            self.add_rates(&mut listing);
        }
        Ok(listing)
    }

    /// The current time of Redis, for people.
    pub(super) fn time(&self) -> String {
        self.servers.keel.link().map(|link| time::text(link.server_now_ms())).unwrap_or_default()
    }

    /// `text` with every secret of the addresses masked.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        self.servers.without_secrets(text)
    }

    async fn database(&mut self) -> Result<&Database> {
        if self.database.is_none() {
            let address = self.servers.database.context("no database given")?;
            self.database = Some(Database::connect(address).await?);
        }
        self.database.as_ref().context("no database given")
    }

    fn add_rates(&mut self, listing: &mut Listing) {
        let values = listing.value.as_array().into_iter().flatten();
        for (row, value) in listing.rows.iter_mut().zip(values) {
            let number = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
            let (now, done) = (number("/now_ms"), number("/totals/done"));
            let before = self.done_before.insert(row[0].clone(), (now, done));
            let rate = before
                .filter(|(then, _)| *then < now)
                .map(|(then, before)| done.saturating_sub(before) * 1_000 / (now - then));
            row.insert(row.len() - 1, rate.map_or_else(|| "-".to_owned(), |rate| rate.to_string()));
        }
        listing.headings.insert(listing.headings.len() - 1, "DONE/S");
    }
}
