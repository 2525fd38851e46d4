//! The input of a step: the stored entry without its expired parts.

use crate::cache::header::{Entry, HeaderError};
use bytes::Bytes;
use evenkeel_link::support::guard;

/// What is stored under a key.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one lives on the stack for the time of a step")]
pub(crate) enum Found {
    /// No entry, or one that has expired.
    Nothing,
    /// Bytes that are not an entry.
    Corrupt,
    /// An entry in a newer format.
    NewerFormat,
    /// An entry.
    Entry {
        /// Without its expired parts.
        entry: Entry,
        /// As it is stored.
        stored: Bytes,
    },
}

impl Found {
    /// Decodes stored bytes at `now_ms`.
    pub(crate) fn tidy(stored: Option<Bytes>, now_ms: u64) -> Self {
        let Some(stored) = stored else { return Found::Nothing };
        match Entry::parse(stored.clone()) {
            Err(HeaderError::Corrupt) => Found::Corrupt,
            Err(HeaderError::NewerFormat) => Found::NewerFormat,
            Ok(entry) if entry.header.ends_at_ms <= now_ms => Found::Nothing,
            Ok(mut entry) => {
                entry.tidy(now_ms);
                Found::Entry { entry, stored }
            }
        }
    }
}

impl Entry {
    fn tidy(&mut self, now_ms: u64) {
        let header = &mut self.header;
        // An expired value is kept for readers whose load fails.
        if header.value.is_none() {
            self.payload = Bytes::new();
        }
        // A window that expired without being ended: its writer is dead or late, and may commit until the suspect time has passed.
        let (suspect_until_ms, invalidated_at_ms) = (&mut header.suspect_until_ms, &mut header.invalidated_at_ms);
        header.windows.retain(|window| {
            let is_open = now_ms < window.until_ms;
            if !is_open && guard("model_suspect_after_expiry") {
                *suspect_until_ms = (*suspect_until_ms).max(window.suspect_until_ms);
            }
            if !is_open && guard("model_suspect_on_replicas") {
                *invalidated_at_ms = (*invalidated_at_ms).max(window.suspect_until_ms);
            }
            is_open
        });
        if header.suspect_until_ms <= now_ms {
            header.suspect_until_ms = 0;
        }
    }
}
