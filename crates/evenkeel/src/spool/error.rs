//! What can go wrong with a spool, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why something could not be spooled, or a spool not be opened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolError {
    /// Another process, or another handle that was not made by cloning, owns the folder. Each process needs a folder of its own.
    #[error("the spool {dir} is in use by another process; give each process a folder of its own", dir = .dir.display())]
    InUse {
        /// The folder.
        dir: PathBuf,
    },
    /// A file is damaged at a place that a crash cannot have damaged. Nothing was changed. What comes before the offset can be
    /// read; move the folder aside, and treat everything that may have been in it as owed (flush those caches).
    #[error(
        "the spool file {file} is damaged at byte {offset}: {reason}; nothing was changed, move the folder aside and flush the caches that used it",
        file = .file.display()
    )]
    Corrupt {
        /// The file.
        file: PathBuf,
        /// Where the first record is that cannot be read.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// As much waits as may wait. Nothing was written.
    #[error("the spool is full: {bytes} of at most {bytes_max} bytes wait to be carried out")]
    Full {
        /// What waits.
        bytes: u64,
        /// What may.
        bytes_max: u64,
    },
    /// A single obligation is larger than a segment may be. Nothing was written.
    #[error("an obligation of {bytes} bytes is larger than a segment of the spool ({bytes_max} bytes)")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The largest size.
        bytes_max: u64,
    },
    /// The operating system refused. If it happened while writing, nothing of it is in the file.
    #[error("the spool could not {what} {path}: {source}", path = .path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What it said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The disk failed in a way after which nobody knows what is in the file: nothing more is taken until the spool is opened
    /// again.
    #[error("the spool takes nothing more since its disk failed ({reason}); restart the program when the disk is well")]
    Broken {
        /// How it failed.
        reason: String,
    },
    /// What was asked for cannot work.
    #[error("the spool cannot work like this: {reason}")]
    Settings {
        /// One sentence: what, and what to change.
        reason: String,
    },
    /// It was closed.
    #[error("the spool was closed")]
    Closed,
}

impl SpoolError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::Io { .. } | Self::InUse { .. })
    }
}
