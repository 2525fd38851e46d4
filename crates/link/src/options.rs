//! The options of a link: the address of Redis, limits and time-outs.

use super::error::LinkError;
use super::script::Script;
use crate::push::tracking::Tracking;
use crate::server::target::Target;
use std::time::Duration;

/// The address of Redis and the link's limits and time-outs. Parsed from a URL; the public fields may be changed afterwards.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkOptions {
    /// Host, credentials, database number.
    pub(crate) target: Target,
    /// Scripts loaded on every epoch.
    pub(crate) scripts: Vec<&'static Script>,
    /// Key prefixes, after the link's prefix and a colon, whose changes are broadcast.
    pub(crate) tracked: Vec<&'static str>,
    /// Every key begins with this and a colon. Default `evenkeel`.
    pub prefix: String,
    /// The number of multiplexed connections; a key always uses the same one. Default 1.
    pub connections: usize,
    /// The time-out of one connection attempt. Default 2 s.
    pub connect_timeout: Duration,
    /// The response time-out of a command. Default 1 s, longer than a busy machine delays a process; a time-out
    /// fires between this and 9/8 of it.
    pub response_timeout: Duration,
    /// After this many consecutive time-outs the link sends a probe, and replaces the epoch if the probe times out as well. Default 3.
    pub silent_timeouts_max: u32,
    /// The limit of commands in flight per connection; calls above it fail with [`LinkError::Busy`]. Default 10,000.
    pub in_flight_max: usize,
    /// The interval at which each connection is asked for the server's time. Default 1 s.
    pub heartbeat: Duration,
    /// Which key changes Redis pushes. Default: those of keys that were read with tracking.
    pub tracking: Tracking,
    /// How long a server may report that it is loading before its epoch ends. Default 1 s.
    pub loading_max: Duration,
}

impl LinkOptions {
    /// Parses `redis://[[user]:password@]host[:port][/db][?option=value&...]`.
    ///
    /// `rediss://` is TLS (feature `tls`), `unix:///path/to/socket` a local socket; `valkey://` and `valkeys://` mean the same.
    /// Options: `prefix`, `connections`, `connect_timeout_ms`, `response_timeout_ms`, `silent_timeouts_max`, `in_flight_max`,
    /// `heartbeat_ms`, `tracking` (`keys`, `broadcast`, `off`), `tls_ca_file`, `tls_cert_file`, `tls_key_file`; for `unix://` also `db`,
    /// `user` and `password`. A user without a password (`nopass`) is written `redis://user:@host`.
    ///
    /// # Errors
    /// [`LinkError::Options`]: one sentence that names the invalid part. It never shows the password.
    pub fn from_url(url: &str) -> Result<Self, LinkError> {
        crate::server::url::parse(url)
    }

    /// Adds scripts that are loaded on every epoch. (Other scripts are loaded when they are first called.)
    #[must_use]
    pub fn with_scripts(mut self, scripts: impl IntoIterator<Item = &'static Script>) -> Self {
        self.scripts.extend(scripts);
        self
    }

    /// Adds key prefixes, without the link's prefix and its colon, whose changes are pushed with [`Tracking::Broadcast`]. Without any,
    /// every change under the link's prefix is pushed.
    #[must_use]
    pub fn with_tracked(mut self, parts: impl IntoIterator<Item = &'static str>) -> Self {
        self.tracked.extend(parts);
        self
    }

    /// Host and port, never a password.
    pub fn address(&self) -> String {
        self.target.to_string()
    }

    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
            scripts: Vec::new(),
            tracked: Vec::new(),
            tracking: Tracking::default(),
            prefix: "evenkeel".to_owned(),
            connections: 1,
            connect_timeout: Duration::from_secs(2),
            response_timeout: Duration::from_secs(1),
            silent_timeouts_max: 3,
            in_flight_max: 10_000,
            heartbeat: Duration::from_secs(1),
            loading_max: Duration::from_secs(1),
        }
    }

    /// Rejects invalid values.
    pub(crate) fn check(&self) -> Result<(), LinkError> {
        let wrong = |text: &str| Err(LinkError::Options(text.to_owned()));
        if self.prefix.is_empty() || self.prefix.contains(|c: char| c.is_whitespace() || c == '{' || c == '}') {
            return wrong("the key prefix must not be empty and must not contain spaces or braces");
        }
        if self.connections == 0 || self.connections > 64 {
            return wrong("`connections` must be between 1 and 64");
        }
        if self.in_flight_max == 0 || self.silent_timeouts_max == 0 {
            return wrong("`in_flight_max` and `silent_timeouts_max` must be 1 or more; there is no upper limit");
        }
        if [self.connect_timeout, self.response_timeout, self.heartbeat]
            .iter()
            .any(|span| *span < Duration::from_millis(10))
        {
            return wrong(
                "`connect_timeout`, `response_timeout` and `heartbeat` must be 10 ms or more; there is no upper limit",
            );
        }
        Ok(())
    }
}
