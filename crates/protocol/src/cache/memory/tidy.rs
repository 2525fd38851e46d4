//! What a step finds: an entry in which everything that time has ended is gone.

use crate::cache::header::{Entry, HeaderError};
use bytes::Bytes;
use evenkeel_link::support::guard;

/// What is stored under a key.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one lives on the stack for the time of a step")]
pub(crate) enum Found {
    /// Nothing, or an entry whose end has passed.
    Nothing,
    /// Bytes that are no entry.
    Corrupt,
    /// An entry of a newer program.
    NewerFormat,
    /// An entry.
    Entry {
        /// Without what time has ended.
        entry: Entry,
        /// As it is stored.
        stored: Bytes,
    },
}

impl Found {
    /// Looks at stored bytes at `now_ms`.
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
        // A spent value stays: a reader whose load fails may want it.
        if header.value.is_none() {
            self.payload = Bytes::new();
        }
        // A window that nobody ended: its writer is dead or late, and may still commit until its suspect time is over.
        let suspect_until_ms = &mut header.suspect_until_ms;
        header.windows.retain(|window| {
            let is_open = now_ms < window.until_ms;
            if !is_open && guard("model_suspect_after_lapse") {
                *suspect_until_ms = (*suspect_until_ms).max(window.suspect_until_ms);
            }
            is_open
        });
        for until_ms in [&mut header.suspect_until_ms, &mut header.guard_until_ms] {
            if *until_ms <= now_ms {
                *until_ms = 0;
            }
        }
    }
}
