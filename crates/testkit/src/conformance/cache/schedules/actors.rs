//! The actors: loaders that lease, read the row and fill; writers that commit and invalidate.

use super::replicas::Row;
use evenkeel::Token;
use evenkeel_protocol::cache::steps::{BeginWrite, Fill, Grant, Invalidation, Lease};

/// A loader's next move.
#[derive(Clone, Debug)]
pub(super) enum Loader {
    Idle,
    /// Its lease is on the way.
    Asking(Token),
    /// It may read the row.
    Granted(Token, Grant),
    /// It has read the row.
    Loaded(Token, Grant, Row),
}

/// A writer's next move.
#[derive(Clone, Debug)]
pub(super) enum Writer {
    Idle,
    /// Its window is on the way.
    Beginning(Token),
    /// It may commit until then.
    Open(Token, u64),
    /// It has committed this version, and has to say so.
    Committed(Option<Token>, u64),
    /// It rolled back, and has to close its window.
    RolledBack(Token),
    /// It waits for the reply that acknowledges that version. `None` closes a window without a commit.
    Invalidating(Option<u64>),
}

/// A call on the way to the store. It may arrive late, twice, or have its answer lost.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// Index of the loader or writer that sent it.
    pub(super) from: usize,
    pub(super) call: Call,
}

#[derive(Clone, Debug)]
pub(super) enum Call {
    Lease(Lease),
    Fill(Fill),
    Abandon(Token),
    Invalidate(Invalidation),
    Begin(BeginWrite),
    End(Token, Invalidation),
}
