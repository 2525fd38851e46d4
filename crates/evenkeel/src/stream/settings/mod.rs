//! The settings of a stream, and their validation.

pub(crate) mod builder;

use evenkeel_link::support::ms;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::steps::{RECORD_BYTES_MAX, SPAN_MS_MAX};
use std::time::Duration;

/// The most partitions of a stream.
pub(crate) const PARTITIONS_MAX: u16 = 256;

/// The settings that the builder collects.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `None`: the registered number, or 1.
    pub(crate) partitions: Option<u16>,
    pub(crate) value_bytes_max: usize,
    pub(crate) entries_max: Option<u64>,
    pub(crate) producer_window: Duration,
    pub(crate) retention: Duration,
    pub(crate) may_evict: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            partitions: None,
            value_bytes_max: RECORD_BYTES_MAX - 1024,
            entries_max: None,
            producer_window: Duration::from_secs(3_600),
            retention: Duration::from_secs(24 * 3_600),
            may_evict: false,
        }
    }
}

impl Settings {
    /// Rejects invalid settings, with one sentence.
    pub(crate) fn check(&self, stream: &str) -> Result<(), StreamError> {
        let refuse = |reason: &str| Err(StreamError::Settings { stream: stream.to_owned(), reason: reason.to_owned() });
        if self.partitions.is_some_and(|partitions| partitions == 0 || partitions > PARTITIONS_MAX) {
            return refuse("`partitions` must be between 1 and 256");
        }
        if self.entries_max == Some(0) || self.value_bytes_max == 0 {
            return refuse("a limit of zero rejects every entry; set at least 1");
        }
        if self.value_bytes_max > RECORD_BYTES_MAX {
            return refuse("`value_bytes_max` must be at most 1 MiB: larger values delay every other entry");
        }
        if ms(self.producer_window) > SPAN_MS_MAX || ms(self.retention) > SPAN_MS_MAX {
            return refuse("`producer_window` and `retention` must be at most a hundred years");
        }
        Ok(())
    }
}
