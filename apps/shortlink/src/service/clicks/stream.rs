//! [`ClickStream`]: the stream of clicks, opened once Redis can be reached.

use evenkeel::Keel;
use evenkeel::stream::{Stream, StreamError};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tracing::warn;

/// The name of the stream.
const NAME: &str = "clicks";

/// How long entries stay after all groups have settled them. Nothing replays clicks.
const KEPT: Duration = Duration::from_secs(600);

/// The most entries, while the database that they go into is unreachable.
const ENTRIES_MAX: u64 = 1_000_000;

/// The parts of the stream. It cannot be changed later.
const PARTITIONS: u16 = 4;

/// An entry of the stream: the clicks of one link, its key, that one process counted in about a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClickEntry {
    /// The process, drawn at its start.
    pub(super) source: String,
    /// Its number among the entries of the process. An entry that was appended twice has the same name, so it counts once.
    pub(super) number: u64,
    /// Days since 1970, in UTC.
    pub(super) day: i64,
    /// Clicks of people.
    pub(super) people: u64,
    /// Clicks of bots.
    pub(super) bots: u64,
}

/// The stream. Cheap to clone.
#[derive(Clone)]
pub(super) struct ClickStream {
    /// Empty until Redis was reached for the first time.
    opened: Arc<OnceLock<Stream<ClickEntry>>>,
    keel: Keel,
}

impl ClickStream {
    pub(super) fn new(keel: &Keel) -> Self {
        Self { opened: Arc::default(), keel: keel.clone() }
    }

    /// Opens the stream, unless Redis is unreachable.
    ///
    /// # Errors
    /// [`StreamError`] that a retry does not help.
    pub(super) async fn open(&self) -> Result<(), StreamError> {
        match self.get().await {
            Err(error) if error.is_retryable() => {
                warn!(%error, "Redis is unreachable; until it is back, clicks wait in this process");
                Ok(())
            }
            opened => opened.map(drop),
        }
    }

    /// The stream, opened on first use.
    pub(super) async fn get(&self) -> Result<Stream<ClickEntry>, StreamError> {
        if let Some(stream) = self.opened.get() {
            return Ok(stream.clone());
        }
        let stream = self.keel.stream(NAME).partitions(PARTITIONS).retention(KEPT).entries_max(ENTRIES_MAX);
        let stream = stream.open().await?;
        Ok(self.opened.get_or_init(|| stream).clone())
    }

    /// Whether the stream is in this process and ends with it.
    pub(super) fn is_embedded(&self) -> bool {
        self.keel.link().is_none()
    }
}
