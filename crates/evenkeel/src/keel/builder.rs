//! [`KeelBuilder`]: how a [`Keel`] is opened.

use super::Keel;
use crate::context::Context;
use crate::process::reporter::Reporter;
#[cfg(feature = "spool")]
use crate::spool::{Spool, SpoolError, SpoolOptions};
use evenkeel_link::clock::Clock;
use evenkeel_link::{Link, LinkError, LinkOptions, Script};
#[cfg(feature = "spool")]
use std::path::Path;

/// Size limit of the embedded store unless the program sets another: 64 MiB.
const MEMORY_MAX_BYTES: usize = 64 << 20;

/// Settings of a [`Keel`] before it is opened.
#[derive(Clone, Debug)]
pub struct KeelBuilder {
    clock: Clock,
    process_reports: bool,
    #[cfg(feature = "spool")]
    spool: Option<Spool>,
}

impl KeelBuilder {
    pub(super) fn new() -> Self {
        Self {
            clock: Clock::system(),
            process_reports: true,
            #[cfg(feature = "spool")]
            spool: None,
        }
    }

    setters! {
        /// For test suites: uses a clock that a test advances ([`TestClock::clock`](evenkeel_link::clock::TestClock::clock)).
        #[cfg(feature = "testing")]
        #[must_use]
        pub fn clock(clock: Clock) => clock = clock;

        /// Whether this keel [reports](crate::process) what its process does. Default `true`: every ten seconds, in one call to Redis.
        #[must_use]
        pub fn process_reports(are_on: bool) => process_reports = are_on;
    }

    /// Opens a spool in the folder `dir`, which is created if it does not exist. If Redis does not accept an invalidation, the
    /// spool stores it and the call returns `Invalidated::Deferred`; this process, or the next one with this folder, replays
    /// it. Each process needs a folder of its own.
    ///
    /// # Errors
    /// As [`Spool::open`].
    #[cfg(feature = "spool")]
    pub async fn spool(mut self, dir: impl AsRef<Path>, options: SpoolOptions) -> Result<Self, SpoolError> {
        self.spool = Some(Spool::open_with(dir.as_ref(), options, self.clock.clone()).await?);
        Ok(self)
    }

    /// See [`Keel::memory`].
    #[must_use]
    pub fn memory(self) -> Keel {
        self.memory_with(MEMORY_MAX_BYTES)
    }

    /// See [`Keel::memory_with`].
    #[must_use]
    pub fn memory_with(self, max_bytes: usize) -> Keel {
        Keel::over(self.context(None), max_bytes)
    }

    /// See [`Keel::connect`].
    ///
    /// # Errors
    /// As [`Keel::connect`].
    pub async fn connect(self, url: &str) -> Result<Keel, LinkError> {
        self.connect_with(LinkOptions::from_url(url)?).await
    }

    /// See [`Keel::connect_lazy`]; with options changed after the URL was read.
    ///
    /// # Errors
    /// As [`Keel::connect_lazy`].
    pub async fn connect_lazy_with(self, options: LinkOptions) -> Result<Keel, LinkError> {
        let link = Link::connect_lazy(of_capabilities(options), self.clock.clone()).await?;
        Ok(self.over(link))
    }

    /// Like [`connect`](Self::connect), with options changed after the URL was read.
    ///
    /// # Errors
    /// As [`Keel::connect`].
    pub async fn connect_with(self, options: LinkOptions) -> Result<Keel, LinkError> {
        let link = Link::connect(of_capabilities(options), self.clock.clone()).await?;
        Ok(self.over(link))
    }

    fn over(self, link: Link) -> Keel {
        // The memory of this process has no cache entries then.
        Keel::over(self.context(Some(link)), 0)
    }

    fn context(self, link: Option<Link>) -> Context {
        Context {
            reporter: Reporter::start(link.as_ref(), &self.clock, self.process_reports),
            link,
            clock: self.clock,
            #[cfg(feature = "spool")]
            spool: self.spool,
        }
    }
}

/// The options, with what the enabled capabilities need from the link.
fn of_capabilities(options: LinkOptions) -> LinkOptions {
    options.with_scripts(scripts()).with_tracked(tracked())
}

/// The Lua scripts of the enabled capabilities.
fn scripts() -> Vec<&'static Script> {
    let capabilities: &[&[&'static Script]] = &[
        &evenkeel_protocol::process::backend::SCRIPTS,
        #[cfg(feature = "cache")]
        &evenkeel_protocol::cache::redis::SCRIPTS,
        #[cfg(feature = "queue")]
        &evenkeel_protocol::queue::scripts::SCRIPTS,
        #[cfg(feature = "stream")]
        &evenkeel_protocol::stream::scripts::SCRIPTS,
        #[cfg(feature = "sql")]
        &crate::sql::sink::stream::SCRIPTS,
        #[cfg(feature = "lock")]
        &evenkeel_protocol::lock::redis::scripts(),
        #[cfg(feature = "id")]
        &evenkeel_protocol::id::backend::scripts::SCRIPTS,
        #[cfg(feature = "limit")]
        evenkeel_protocol::limit::scripts(),
    ];
    capabilities.concat()
}

/// Key prefixes (after the namespace prefix) whose changes the link tracks.
fn tracked() -> Vec<&'static str> {
    vec![
        #[cfg(feature = "cache")]
        evenkeel_protocol::cache::keys::FRONT,
    ]
}
