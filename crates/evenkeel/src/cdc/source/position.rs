//! What a checkpoint names: the source, its epoch, the position, and the anchor.

use std::cmp::Ordering;
use std::fmt;

/// A place in a log.
///
/// Within an epoch positions are compared by two numbers (number of the file and offset; LSN and 0; milliseconds and sequence). The text is
/// what the source needs to go on from here (a set of GTIDs, say), and what people see. Between epochs only the epoch is compared: a later
/// server's log may begin with smaller numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Counts the logs under one name: a new server, a reset log, a new slot is the next epoch.
    pub epoch: u64,
    /// Its order in the epoch.
    pub order: (u64, u64),
    /// Its text, at most 60,000 bytes.
    pub text: String,
}

impl PartialOrd for Position {
    /// `None` for two texts at one place.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.epoch, self.order).cmp(&(other.epoch, other.order)) {
            Ordering::Equal if self.text != other.text => None,
            order => Some(order),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.text, self.epoch)
    }
}

/// Which log it is: kind, server, database. At most 255 bytes. What belongs to it is the source's decision; a source that finds another one
/// than the checkpoint names reports a gap or continues in the next epoch if it can prove that nothing is missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity(pub String);

/// Identifies the last group before a checkpoint by its content: its id, time and a hash, say. At most 255 bytes; empty where a source has
/// nothing to compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anchor(pub String);

/// Where a reader had come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log.
    pub identity: Identity,
    /// The epoch of the position.
    pub epoch: u64,
    /// The text of the position.
    pub position: String,
    /// The last group before it.
    pub anchor: Anchor,
}

/// Where a source is to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartAt {
    /// After the group of this checkpoint.
    Checkpoint(Checkpoint),
    /// At the end of the log as it is now: there is no checkpoint, or its history is lost and that was accepted. Its positions are in
    /// `epoch`.
    End {
        /// The epoch of the positions.
        epoch: u64,
    },
}

/// Where a source has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The log that is read.
    pub identity: Identity,
    /// The position from which events come.
    pub position: Position,
}
