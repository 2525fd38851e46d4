//! The health of an epoch: what its connections report and why it ended.

use tokio::sync::{Notify, SetOnce};

/// Why an epoch was replaced. The names are the label `reason` of `evenkeel_link_epochs_ended_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndReason {
    /// A connection was closed or broke.
    Closed,
    /// The server did not reply: several consecutive time-outs and then the probe.
    Silent,
    /// The server rejected a write because it has become a replica.
    ReadOnly,
    /// The server reports that it is a replica.
    NotPrimary,
    /// The server was loading its data for longer than `loading_max`.
    Loading,
    /// Another server replied, or the same one with another data set: the run id or the replication id changed.
    OtherServer,
    /// The link was shut down.
    Shutdown,
    /// The tokio runtime that the link was opened on has ended.
    RuntimeEnded,
}

impl EndReason {
    /// The value of the label `reason`, also used in logs.
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

/// Shared by the connections of an epoch, the heartbeat that checks them and the supervisor that replaces them.
#[derive(Default)]
pub(crate) struct Health {
    ended: SetOnce<EndReason>,
    suspicion: Notify,
}

impl Health {
    /// Ends the epoch. The first reason is kept.
    pub(crate) fn end(&self, reason: EndReason) {
        let _ = self.ended.set(reason);
    }

    /// Whether the epoch has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.initialized()
    }

    /// Waits until the epoch ends and returns the reason.
    pub(crate) async fn ended(&self) -> EndReason {
        *self.ended.wait().await
    }

    /// Requests an immediate heartbeat.
    pub(crate) fn suspect(&self) {
        self.suspicion.notify_one();
    }

    /// Waits until an immediate heartbeat is requested.
    pub(crate) async fn suspected(&self) {
        self.suspicion.notified().await;
    }
}
