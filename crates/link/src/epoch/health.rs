//! How an epoch is doing: what its connections report, and why it ended.

use tokio::sync::{Notify, SetOnce};

/// Why an epoch was replaced. The names are the label `reason` of `evenkeel_link_epochs_ended_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndReason {
    /// A connection was closed or broke.
    Closed,
    /// The server went silent: so many time-outs in a row, and the probe after them.
    Silent,
    /// The server refused a write because it has become a replica.
    ReadOnly,
    /// The server is a replica now, as its own report says.
    NotPrimary,
    /// The server has been loading its data for too long.
    Loading,
    /// Another server answers, or the same one with other data: a new run id or replication id.
    OtherServer,
    /// The link was shut down.
    Shutdown,
    /// The tokio runtime that the link was opened on has ended.
    RuntimeEnded,
}

impl EndReason {
    /// One word for metrics and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Silent => "silent",
            Self::ReadOnly => "read_only",
            Self::NotPrimary => "not_primary",
            Self::Loading => "loading",
            Self::OtherServer => "other_server",
            Self::Shutdown => "shutdown",
            Self::RuntimeEnded => "runtime_ended",
        }
    }
}

/// Shared by the connections of an epoch, the heartbeat that judges them and the supervisor that replaces them.
#[derive(Default)]
pub(crate) struct Health {
    ended: SetOnce<EndReason>,
    suspicion: Notify,
}

impl Health {
    /// Ends the epoch. The first reason stands.
    pub(crate) fn end(&self, reason: EndReason) {
        let _ = self.ended.set(reason);
    }

    /// Whether the epoch has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.initialized()
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) -> EndReason {
        *self.ended.wait().await
    }

    /// Asks the heartbeat to look at once.
    pub(crate) fn suspect(&self) {
        self.suspicion.notify_one();
    }

    /// Waits until a check is asked for.
    pub(crate) async fn suspected(&self) {
        self.suspicion.notified().await;
    }
}
