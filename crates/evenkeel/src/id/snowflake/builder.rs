//! [`SnowflakeBuilder`]: the settings of a generator.

use super::keeper::Keeper;
use super::{Scopes, Snowflake};
use evenkeel_link::support::ms;
use evenkeel_protocol::id::error::IdError;
use evenkeel_protocol::id::layout::Layout;
use evenkeel_protocol::id::settings::Settings;
use std::sync::Arc;
use std::time::Duration;

/// The settings of a [`Snowflake`]. Every setting has a default. Those of layout and times must be the same in all programs of a scope: the
/// first program stores them.
#[must_use = "a builder does nothing until `build`"]
#[derive(Clone)]
pub struct SnowflakeBuilder {
    scopes: Scopes,
    scope: String,
    layout: Layout,
    ahead: Duration,
    margin: Duration,
    lease: Duration,
    wait: Duration,
}

impl SnowflakeBuilder {
    pub(crate) fn new(scopes: &Scopes, scope: &str) -> Self {
        Self {
            scopes: scopes.clone(),
            scope: scope.to_owned(),
            layout: Layout::default(),
            ahead: Duration::from_secs(3),
            margin: Duration::from_secs(1),
            lease: Duration::from_secs(30),
            wait: Duration::from_secs(10),
        }
    }

    setters! {
        /// The composition of the ids. Default [`Layout::default`]: 1,024 worker ids, 4,096 ids per millisecond and worker.
        pub fn layout(layout: Layout) => layout = layout;

        /// How far ahead time is reserved: so long ids go on without the store, and so far the times in ids of a busy process may be ahead of
        /// those of others. 100 ms to a day. Default 3 s.
        pub fn ahead(ahead: Duration) => ahead = ahead;

        /// By how much the clock of a store that has lost commits may be behind, such as that of a promoted replica. The first id of a
        /// process comes so much later. At most a day. Default 1 s.
        pub fn margin(margin: Duration) => margin = margin;

        /// How long a worker id is kept for a process that does not answer. At least the sum of `ahead`, `margin` and a second, at most three
        /// days. Default 30 s.
        pub fn lease(lease: Duration) => lease = lease;

        /// How long [`next`](Snowflake::next) waits if no time is reserved. Default 10 s.
        pub fn wait(wait: Duration) => wait = wait;
    }

    /// Leases a worker id.
    ///
    /// # Errors
    /// [`IdError::Invalid`]: the name or a setting; nothing was sent. [`IdError::Differs`]: the scope has other settings.
    /// [`IdError::WorkersTaken`]: as many processes have a worker id. [`IdError::ClocksApart`]. [`IdError::Link`]: a worker id may be leased;
    /// its lease ends by itself.
    pub async fn build(self) -> Result<Snowflake, IdError> {
        let whole = |what: &str, span: Duration| match span.subsec_nanos() % 1_000_000 {
            0 => Ok(ms(span)),
            _ => Err(IdError::Invalid(format!("{what} of {span:?}; whole milliseconds are possible"))),
        };
        let settings = Settings {
            layout: self.layout,
            ahead_ms: whole("time reserved ahead", self.ahead)?,
            margin_ms: whole("a margin", self.margin)?,
            lease_ms: whole("a lease", self.lease)?,
        };
        settings.check()?;
        let now_ms = self.scopes.clock.unix_ms();
        if !(settings.layout.parts(0).unix_ms..settings.layout.ends_ms()).contains(&now_ms) {
            return Err(IdError::Invalid(format!(
                "the layout {} has no ids at the time {now_ms}: it is before the epoch, or the bits of the time are used up",
                settings.layout
            )));
        }
        let scope = self.scopes.backend.scope(&self.scope)?;
        let keeper = Arc::new(Keeper::new(&self.scopes, scope, settings));
        keeper.run_once().await?;
        Ok(Snowflake::new(keeper, self.wait))
    }
}
