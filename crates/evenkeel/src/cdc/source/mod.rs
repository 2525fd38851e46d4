//! Where changes come from: the trait of sources, and what they give.
//!
//! A source reads the log of a database, or something that stands for one, from a position on. It knows nothing of rules, checkpoints or
//! Redis. `value.rs` has rows and their values, `change.rs` the changes and events, `position.rs` what a checkpoint names. The sources:
//! `poll.rs` reads a table again and again, `change_table.rs` a table that triggers of SQLite fill.

mod change;
#[cfg(feature = "sqlite")]
mod change_table;
mod error;
mod poll;
mod position;
mod value;

pub use change::{Change, Event, Kind, Table};
#[cfg(feature = "sqlite")]
pub use change_table::ChangeTable;
pub use error::{Gap, GapCause, SourceError};
pub use poll::Poll;
pub use position::{Anchor, Checkpoint, Identity, Position, StartAt, Started};
pub use value::{Row, Value};

use async_trait::async_trait;
use std::time::Duration;

/// The time after which [`Source::next`] returns although nothing happened.
pub const IDLE_MAX: Duration = Duration::from_secs(1);

/// The most events that one call of [`Source::next`] should return.
pub const EVENTS_MAX: usize = 1_000;

/// Whether the loaders of caches already see a group of changes: a log can show a commit before the database does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// Every statement that begins from now on sees all groups that began at this position or before.
    Visible,
    /// Not yet. The reader asks again.
    NotYet,
    /// The question cannot be asked; the text says why. The reader applies nothing and reports it.
    Unknown(String),
}

/// A log of changes, read by one reader at a time.
///
/// A reader calls [`start`](Self::start), then [`next`](Self::next) and [`barrier`](Self::barrier) until a call returns an error. After an
/// error, and after any future of it was dropped before its end, it calls `start` again with its checkpoint. So no method needs to be safe
/// to cancel, and a source does not reconnect by itself: `start` drops all that is left of an earlier start.
///
/// **What a source must hold.** It returns groups (transactions) in the order of the log, whole, and again from a checkpoint on: each
/// group whose commit is after the checkpoint is returned at least once. It never skips what it cannot read: that is
/// [`SourceError::Unreadable`]. If history between the checkpoint and the first event is or may be lost, it returns
/// [`SourceError::Gap`] and no event.
#[async_trait]
pub trait Source: Send {
    /// Connects, checks that the source continues the checkpoint, and begins there.
    ///
    /// # Errors
    /// [`SourceError::Refused`] if a setting or privilege is missing, with the statement that changes it; [`SourceError::Gap`] if the
    /// source does not continue the checkpoint; [`SourceError::Unavailable`] if that cannot be known now.
    async fn start(&mut self, at: StartAt) -> Result<Started, SourceError>;

    /// The next events: at least one, at most about [`EVENTS_MAX`] or a mebibyte, whatever is reached first. It waits only while there is
    /// none, and for [`IDLE_MAX`] at most: then it returns [`Event::Idle`]. A large transaction is returned in several calls.
    ///
    /// # Errors
    /// Any [`SourceError`]. The events before it were returned by earlier calls.
    async fn next(&mut self) -> Result<Vec<Event>, SourceError>;

    /// Whether all groups that began at `position` or before are visible to the loaders. `position` is that of an [`Event::Begin`] or
    /// [`Event::Commit`] of this source since its start.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`].
    async fn barrier(&mut self, position: &Position) -> Result<Barrier, SourceError>;

    /// Tells the source that a checkpoint at `position` is saved, so it may release its log up to there.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`]. Nothing is lost: the log is kept for longer.
    async fn confirm(&mut self, position: &Position) -> Result<(), SourceError>;

    /// How long the reader waits after [`Event::Idle`] before it calls [`next`](Self::next) again. Zero for a source whose `next` waits.
    fn idle_pause(&self) -> Duration {
        Duration::ZERO
    }
}
