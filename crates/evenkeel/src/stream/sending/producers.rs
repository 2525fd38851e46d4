//! The producers under which this process appends entries that have no number of their own.
//!
//! Redis appends each number of a producer once, so a call whose reply is lost can be repeated. A producer has one call at a time; calls
//! that run at once have different producers. A call that fails takes its producer with it, so no number is used for two entries.

use evenkeel_link::Token;
use parking_lot::Mutex;

/// The most producers that are kept for the next calls; each is an entry in Redis until its window ends.
const KEPT_MAX: usize = 64;

/// The idle producers of one partition.
#[derive(Default)]
pub(crate) struct Producers(Mutex<Vec<Producer>>);

/// A producer, and the last number that it has used.
pub(crate) struct Producer {
    pub(crate) token: Token,
    pub(crate) last: u64,
}

impl Producers {
    pub(crate) fn take(&self) -> Producer {
        self.0.lock().pop().unwrap_or_else(|| Producer { token: Token::random(), last: 0 })
    }

    /// Keeps a producer whose last call was answered.
    pub(crate) fn keep(&self, producer: Producer) {
        let mut idle = self.0.lock();
        if idle.len() < KEPT_MAX {
            idle.push(producer);
        }
    }
}
