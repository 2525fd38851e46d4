//! [`Buffer`]: the block in use and the next one.

use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A block should last this long: half of it and twice of it change nothing.
const LASTS: Duration = Duration::from_secs(60);

/// Numbers that only this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) from: u64,
    /// Not one of them.
    pub(super) until: u64,
}

pub(super) struct Buffer {
    /// What is left of the block in use.
    left: Block,
    spare: Option<Block>,
    /// How many numbers the next block has.
    count: u64,
    counts: RangeInclusive<u64>,
    begun_at: Moment,
    /// The end of the last block that was accepted: numbers of one process rise.
    end: u64,
    is_fetching: bool,
}

impl Buffer {
    pub(super) fn new(counts: RangeInclusive<u64>, now: Moment) -> Self {
        let (left, count) = (Block { from: 0, until: 0 }, *counts.start());
        Self { left, spare: None, count, counts, begun_at: now, end: 0, is_fetching: false }
    }

    /// The next number, if there is one.
    pub(super) fn take(&mut self, now: impl FnOnce() -> Moment) -> Option<u64> {
        if self.left.from == self.left.until {
            self.left = self.spare.take()?;
            self.adapt(now());
        }
        let number = self.left.from;
        self.left.from += 1;
        Some(number)
    }

    /// Whether a block is to be fetched now, and how many numbers it has: there is no next one, and half of the one in use is used. The
    /// caller fetches it, and says so with [`fetched`](Self::fetched).
    pub(super) fn begin_fetch(&mut self) -> Option<u64> {
        let is_half_used = (self.left.until - self.left.from) <= self.count / 2;
        if self.is_fetching || self.spare.is_some() || !is_half_used {
            return None;
        }
        self.is_fetching = true;
        Some(self.count)
    }

    /// The end of the last block.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The fetch is over, with or without a block.
    pub(super) fn fetched(&mut self, block: Option<Block>) {
        self.is_fetching = false;
        if let Some(block) = block {
            (self.spare, self.end) = (Some(block), block.until);
        }
    }

    /// A block was used up: the next ones are larger or smaller if it did not last for about a minute.
    fn adapt(&mut self, now: Moment) {
        let lasted = now.since(std::mem::replace(&mut self.begun_at, now));
        let count = match lasted {
            _ if !guard("segments_adapt") => return,
            _ if lasted < LASTS / 2 => self.count.saturating_mul(2),
            _ if lasted > LASTS * 2 => self.count / 2,
            _ => self.count,
        };
        self.count = count.clamp(*self.counts.start(), *self.counts.end());
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Buffer, Moment};
    use std::time::Duration;

    fn at(seconds: u64) -> Moment {
        Moment::from_clock(Duration::from_secs(seconds))
    }

    /// Fetches a block of the asked size at the end of the last one.
    fn fetch(buffer: &mut Buffer) -> u64 {
        let count = buffer.begin_fetch().unwrap_or(0);
        assert_eq!(buffer.begin_fetch(), None, "one at a time");
        let from = buffer.end().max(1);
        buffer.fetched(Some(Block { from, until: from + count }));
        count
    }

    // shows: I4, hazard GI13
    #[test]
    fn next_block_is_fetched_at_half_use() {
        let mut buffer = Buffer::new(10..=10, at(0));
        assert_eq!(buffer.take(|| at(0)), None);
        assert_eq!(fetch(&mut buffer), 10);
        for number in 1..=4 {
            assert_eq!(buffer.take(|| at(0)), Some(number));
            assert_eq!(buffer.begin_fetch(), None);
        }
        assert_eq!(buffer.take(|| at(0)), Some(5));
        assert_eq!(fetch(&mut buffer), 10);
        for number in 6..=20 {
            assert_eq!(buffer.take(|| at(0)), Some(number));
        }
        assert_eq!(buffer.take(|| at(0)), None);
    }

    #[test]
    fn failed_fetch_is_tried_again() {
        let mut buffer = Buffer::new(1..=1, at(0));
        assert_eq!(buffer.begin_fetch(), Some(1));
        buffer.fetched(None);
        assert_eq!(buffer.begin_fetch(), Some(1));
    }

    // shows: hazard GI13
    #[test]
    fn size_of_blocks_follows_their_use() {
        let mut buffer = Buffer::new(4..=64, at(0));
        let mut now = 0;
        let mut sizes = Vec::new();
        // Each block lasts a second, then each an hour.
        for lasts in [1; 8].into_iter().chain([3_600; 8]) {
            let count = fetch(&mut buffer);
            sizes.push(count);
            now += lasts;
            for _ in 0..count {
                assert!(buffer.take(|| at(now)).is_some());
            }
        }
        assert_eq!(sizes, [4, 8, 16, 32, 64, 64, 64, 64, 64, 32, 16, 8, 4, 4, 4, 4]);
    }
}
