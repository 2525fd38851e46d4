//! The errors of a spool.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why an effect could not be stored, or a spool not be opened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolError {
    /// Another process, or another handle that is not a clone, owns the folder. Each process needs a folder of its own.
    #[error("the spool {dir} is in use by another process; give each process a folder of its own", dir = .dir.display())]
    InUse {
        /// The folder.
        dir: PathBuf,
    },
    /// A file is damaged at a position that a crash cannot explain. Nothing was changed. The data before the offset can be
    /// read; move the folder aside, and assume that every invalidation in it was lost (flush those caches).
    #[error(
        "the spool file {file} is damaged at byte {offset}: {reason}; nothing was changed; \
         move the folder aside and flush the caches that used it",
        file = .file.display()
    )]
    Corrupt {
        /// The file.
        file: PathBuf,
        /// The offset of the first unreadable record.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The pending effects take all allowed space. Nothing was written.
    #[error("the spool is full: pending effects take {bytes} of {bytes_max} bytes")]
    Full {
        /// Bytes of pending effects.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// A single effect is larger than a segment may be. Nothing was written.
    #[error("an effect of {bytes} bytes is larger than a segment of the spool ({bytes_max} bytes)")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The largest size.
        bytes_max: u64,
    },
    /// The topic of an effect is longer than 255 bytes. Nothing was written.
    #[error("the topic of an effect has {bytes} bytes; the limit is {bytes_max}")]
    LongTopic {
        /// Its length.
        bytes: u64,
        /// The longest length.
        bytes_max: u64,
    },
    /// The operating system returned an error. If it happened during a write, nothing of that write is in the file.
    #[error("the spool could not {what} {path}: {source}", path = .path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: Arc<io::Error>,
    },
    /// The disk failed in a way that leaves the contents of the file unknown: the spool stores nothing more until it is opened
    /// again.
    #[error(
        "the spool accepts nothing more because its disk failed ({reason}); repair the disk, then restart the program"
    )]
    Broken {
        /// How it failed.
        reason: String,
    },
    /// The settings are invalid.
    #[error("the settings of the spool are invalid: {reason}")]
    Settings {
        /// One sentence that names the setting and how to change it.
        reason: String,
    },
    /// The spool was closed.
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
