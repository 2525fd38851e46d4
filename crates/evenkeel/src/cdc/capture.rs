//! [`Capture`]: the settings of a reader, and its run.

use super::error::CdcError;
use super::metrics::CdcMetrics;
use super::reader::{Reader, Rows};
use super::rules::{Effect, TableRules, check_name};
use super::source::Source;
use crate::sql::database::Pool;
use evenkeel_link::clock::Clock;
use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// What happens when changes are missing in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GapPolicy {
    /// The reader ends with [`CdcError::Gap`], at every start, and its row says why.
    #[default]
    Stop,
    /// The reader logs the gap, records it, and goes on at the end of the log. Entries that the lost changes made old are served until their
    /// `ttl` ends: caches that cannot be cleared by hand need [`Stop`](Self::Stop).
    Continue,
}

/// Captures the changes of one source; built by [`Keel::cdc`](crate::Keel::cdc).
///
/// **Guarantee (D1, D2, D6).** A change takes effect when the loaders of caches see it, at least once, in the order of the log per key of a
/// rule; the checkpoint is saved after the effects that it covers. **Not guaranteed.** What docs/spec/cdc.md lists: changes before the
/// first start, atomicity between keys, and what the source itself does not see.
#[must_use = "nothing is captured until `run`"]
pub struct Capture {
    pool: Pool,
    clock: Clock,
    name: String,
    source: Box<dyn Source>,
    tables: Vec<TableRules>,
    lease: Duration,
    on_gap: GapPolicy,
}

impl Capture {
    pub(crate) fn new(pool: Pool, clock: &Clock, name: &str, source: Box<dyn Source>) -> Self {
        Self {
            pool,
            clock: clock.clone(),
            name: name.to_owned(),
            source,
            tables: Vec::new(),
            lease: Duration::from_secs(10),
            on_gap: GapPolicy::Stop,
        }
    }

    /// Adds the rules of a table: `users`, or `public.users`.
    pub fn table(mut self, table: &str, rules: impl FnOnce(TableRules) -> TableRules) -> Self {
        self.tables.push(rules(TableRules::of(table)));
        self
    }

    /// How long after its death another process takes over. Default: 10 s; at least a second, at most an hour.
    pub fn lease(mut self, span: Duration) -> Self {
        self.lease = span.clamp(Duration::from_secs(1), Duration::from_secs(3600));
        self
    }

    /// What happens when changes are missing in the log. Default: [`GapPolicy::Stop`].
    pub fn on_gap(mut self, policy: GapPolicy) -> Self {
        self.on_gap = policy;
        self
    }

    /// Captures until `shutdown` completes, then lets another process be the reader. Of all processes that run the same source, one is the
    /// reader; the others wait for its lease to end.
    ///
    /// While the source, the database of the checkpoint, or Redis is unavailable, it retries.
    ///
    /// # Errors
    /// [`CdcError::Settings`], [`CdcError::Gap`], [`CdcError::Source`], [`CdcError::Unmapped`], [`CdcError::TooManyParked`], and
    /// [`CdcError::Sql`] if the library's tables are missing. Effects up to the error are done; the checkpoint was not moved past it.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), CdcError> {
        self.check()?;
        let name: Arc<str> = self.name.into();
        let reader = Reader {
            metrics: CdcMetrics::register(&name),
            rows: Rows { pool: self.pool, name },
            clock: self.clock,
            rules: self.tables.into_iter().flat_map(|table| table.rules).collect(),
            lease: self.lease,
            on_gap: self.on_gap,
        };
        reader.run(self.source, Box::pin(shutdown)).await
    }

    fn check(&self) -> Result<(), CdcError> {
        check_name("source", &self.name)?;
        if self.tables.is_empty() {
            return Err(CdcError::Settings("no table has rules: call table(name, rules)".to_owned()));
        }
        let mut functions = HashSet::new();
        for table in &self.tables {
            table.check()?;
            for rule in table.rules.iter().filter(|rule| matches!(rule.effect, Effect::Call(_))) {
                // Parked keys are found by it.
                if !functions.insert(&rule.name) {
                    return Err(CdcError::Settings(format!("two functions have the name {:?}", rule.name)));
                }
            }
        }
        Ok(())
    }
}
