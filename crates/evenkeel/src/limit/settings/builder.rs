//! [`LimitBuilder`]: opens a limit.

use super::{LevelSettings, WithoutRedis, check};
use crate::limit::fallback::Fallback;
use crate::limit::limit::{Inner, Limit};
use crate::limit::metrics::LimitMetrics;
use crate::limit::store::{LimitStore, Limits};
use evenkeel_link::support::Recurring;
use evenkeel_protocol::limit::error::LimitError;
use evenkeel_protocol::limit::quota::Quota;
use std::sync::Arc;

/// The settings of a limit, before it is opened. It needs at least one level. [`open`](Self::open) is the last call.
#[must_use = "a builder does nothing until `open`"]
pub struct LimitBuilder {
    limits: Arc<Limits>,
    name: String,
    levels: Vec<LevelSettings>,
    without_redis: WithoutRedis,
}

impl LimitBuilder {
    pub(crate) fn new(limits: Arc<Limits>, name: &str) -> Self {
        Self { limits, name: name.to_owned(), levels: Vec::new(), without_redis: WithoutRedis::default() }
    }

    setters! {
        /// What happens while Redis is not available. Default [`WithoutRedis::Local`].
        pub fn without_redis(choice: WithoutRedis) => without_redis = choice;
    }

    /// Adds a level below those before it: a name of 1 to 64 letters, digits, `-`, `_` or `.`, and a [`Rate`](crate::limit::Rate) or a
    /// [`Window`](crate::limit::Window). At most 8 levels.
    ///
    /// The name is a part of the keys in Redis: a renamed level begins with full buckets. A quota may change: programs that use another one meanwhile are
    /// held to the more generous of the two.
    pub fn level(mut self, name: &str, quota: impl Into<Quota>) -> Self {
        self.levels.push(LevelSettings { name: name.into(), quota: quota.into() });
        self
    }

    /// Opens the limit. With [`WithoutRedis::Local`] it counts the instances; an unavailable Redis is no error.
    ///
    /// # Errors
    /// [`LimitError::Settings`]: one sentence that names the invalid setting and the change to make. [`LimitError::Invalid`]: a name.
    pub async fn open(self) -> Result<Limit, LimitError> {
        check(&self.name, &self.levels)?;
        let clock = &self.limits.clock;
        let name: Arc<str> = self.name.into();
        let metrics = LimitMetrics::register(&name);
        let counts_instances = self.without_redis == WithoutRedis::Local;
        let store = LimitStore::new(&self.limits, &name, counts_instances, metrics.instances.clone());
        store.attend().await;
        Ok(Limit::new(Inner {
            fallback: Fallback::new(self.without_redis, clock),
            clock: clock.clone(),
            levels: self.levels,
            failures: Recurring::default(),
            name,
            store,
            metrics,
        }))
    }
}
