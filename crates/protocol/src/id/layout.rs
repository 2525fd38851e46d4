//! [`Layout`]: how an id is composed of a time, a worker id and a sequence number.

use super::error::IdError;
use std::fmt;
use std::time::Duration;

/// The bits of an id: those of a positive `i64`, which every database has.
const BITS: u8 = 63;
/// More worker ids than processes of one scope: 1,024. The rows of a scope are as many.
const WORKER_BITS_MAX: u8 = 10;
/// Midnight of January 1, 2025, UTC.
const EPOCH_MS: u64 = 1_735_689_600_000;
/// The longest tick: a second.
const TICK_MS_MAX: u64 = 1_000;
/// The latest time of an epoch and of a tick, the year 10889: `ms` are 48 bits in the store.
const MS_MAX: u64 = (1 << 48) - 1;

/// The composition of an id, from its highest bits: the time in ticks since an epoch, the worker id, a sequence number within the tick.
///
/// The layout of a scope is stored with its first worker id and never changes: ids of two layouts could be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    pub(crate) time_bits: u8,
    pub(crate) worker_bits: u8,
    pub(crate) sequence_bits: u8,
    pub(crate) tick_ms: u64,
    pub(crate) epoch_ms: u64,
}

/// What an id consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// The beginning of its tick, in ms since 1970: about when the id was issued, at most the reserved time later.
    pub unix_ms: u64,
    /// The worker id of its issuer.
    pub worker: u16,
    /// The number within the tick.
    pub sequence: u64,
}

impl Default for Layout {
    /// 41 bits of milliseconds since January 1, 2025 (until 2094), 1,024 worker ids, 4,096 ids per millisecond and worker.
    fn default() -> Self {
        Self::new(41, 10, 12)
    }
}

impl Layout {
    /// A layout with ticks of a millisecond since January 1, 2025. It is checked when a generator is built.
    #[must_use]
    pub const fn new(time_bits: u8, worker_bits: u8, sequence_bits: u8) -> Self {
        Self { time_bits, worker_bits, sequence_bits, tick_ms: 1, epoch_ms: EPOCH_MS }
    }

    /// Ids of at most 53 bits, which a `number` of JavaScript represents exactly: 38 bits of 10 ms (until 2112), 64 worker ids, 512 ids per
    /// tick and worker (51,200 a second).
    #[must_use]
    pub const fn js() -> Self {
        Self { tick_ms: 10, ..Self::new(38, 6, 9) }
    }

    /// Sets the length of a tick, in whole milliseconds.
    #[must_use]
    pub fn tick(self, tick: Duration) -> Self {
        // A part of a millisecond is not cut off, but rejected with the zero.
        let whole = tick.subsec_nanos().is_multiple_of(1_000_000);
        Self { tick_ms: if whole { u64::try_from(tick.as_millis()).unwrap_or(u64::MAX) } else { 0 }, ..self }
    }

    /// Sets the time of the first tick, in ms since 1970.
    #[must_use]
    pub fn epoch_ms(self, epoch_ms: u64) -> Self {
        Self { epoch_ms, ..self }
    }

    /// The parts of an id of this layout.
    #[must_use]
    pub fn parts(&self, id: u64) -> Parts {
        let (worker_bits, sequence_bits) = (u32::from(self.worker_bits), u32::from(self.sequence_bits));
        let worker = right(id, sequence_bits) & low(self.worker_bits);
        Parts {
            unix_ms: self.ms_of(right(id, worker_bits + sequence_bits)),
            worker: u16::try_from(worker).unwrap_or(u16::MAX),
            sequence: id & low(self.sequence_bits),
        }
    }

    /// The number of worker ids.
    #[must_use]
    pub fn workers(&self) -> u32 {
        1 << self.worker_bits.min(WORKER_BITS_MAX)
    }

    /// The first time after the last tick, in ms since 1970.
    #[must_use]
    pub fn ends_ms(&self) -> u64 {
        self.ms_of(low(self.time_bits).saturating_add(1))
    }

    /// Rejects a layout without ids, or with ids of more than 63 bits.
    ///
    /// # Errors
    /// [`IdError::Invalid`].
    pub fn check(&self) -> Result<(), IdError> {
        let refuse = |what: &str| Err(IdError::Invalid(format!("the layout {self}: {what}")));
        let Self { time_bits, worker_bits, sequence_bits, tick_ms, epoch_ms } = *self;
        if u16::from(time_bits) + u16::from(worker_bits) + u16::from(sequence_bits) > BITS.into() {
            return refuse("more than 63 bits");
        }
        if time_bits == 0 || sequence_bits == 0 || worker_bits > WORKER_BITS_MAX {
            return refuse("time and sequence number have at least 1 bit, the worker id at most 10");
        }
        if tick_ms == 0 || tick_ms > TICK_MS_MAX {
            return refuse("a tick is 1 to 1,000 whole milliseconds");
        }
        if epoch_ms > MS_MAX {
            return refuse("the epoch is in ms since 1970");
        }
        Ok(())
    }

    /// The number of ids that one worker issues in a tick.
    #[must_use]
    pub fn ids_per_tick(&self) -> u64 {
        left(1, self.sequence_bits.into())
    }

    /// The first word (tick and sequence number) of the first tick that begins at or after this time.
    #[must_use]
    pub fn first_word(&self, unix_ms: u64) -> u64 {
        self.word_of(unix_ms.saturating_sub(self.epoch_ms).div_ceil(self.tick_ms.max(1)))
    }

    /// The first word of the tick of this time. It is also the end of the ticks that are over at this time.
    #[must_use]
    pub fn word_at(&self, unix_ms: u64) -> u64 {
        self.word_of(unix_ms.saturating_sub(self.epoch_ms) / self.tick_ms.max(1))
    }

    /// The end of the tick of a word, in ms since 1970.
    #[must_use]
    pub fn tick_end_ms(&self, word: u64) -> u64 {
        self.ms_of(right(word, self.sequence_bits.into()) + 1)
    }

    /// The id of a word of a worker.
    #[must_use]
    pub fn id(&self, word: u64, worker: u16) -> u64 {
        let (worker_bits, sequence_bits) = (u32::from(self.worker_bits), u32::from(self.sequence_bits));
        let (tick, sequence) = (right(word, sequence_bits), word & low(self.sequence_bits));
        left(tick, worker_bits + sequence_bits) | left(worker.into(), sequence_bits) | sequence
    }

    /// The first word of a tick; the end of all words for a tick that the layout does not have.
    fn word_of(&self, tick: u64) -> u64 {
        left(tick.min(low(self.time_bits).saturating_add(1)), self.sequence_bits.into())
    }

    fn ms_of(&self, tick: u64) -> u64 {
        self.epoch_ms.saturating_add(tick.saturating_mul(self.tick_ms))
    }
}

/// So many low bits.
fn low(bits: u8) -> u64 {
    1u64.checked_shl(bits.into()).map_or(u64::MAX, |above| above - 1)
}

// A layout that was not checked has as many bits as it likes.

fn left(number: u64, bits: u32) -> u64 {
    number.checked_shl(bits).unwrap_or(0)
}

fn right(number: u64, bits: u32) -> u64 {
    number.checked_shr(bits).unwrap_or(0)
}

/// As it is stored: bits, ms of a tick, epoch.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time_bits, worker_bits, sequence_bits, tick_ms, epoch_ms } = self;
        write!(f, "{time_bits}/{worker_bits}/{sequence_bits} of {tick_ms} ms since {epoch_ms}")
    }
}

#[cfg(test)]
mod tests {
    use super::{EPOCH_MS, Layout, Parts};
    use std::time::Duration;

    // shows: hazard GI11
    #[test]
    fn id_has_time_worker_and_sequence_in_this_order() {
        let layout = Layout::default();
        let word = layout.first_word(EPOCH_MS + 5) + 7;
        let id = layout.id(word, 3);
        assert_eq!(id, (5 << 22) | (3 << 12) | 7);
        assert_eq!(layout.parts(id), Parts { unix_ms: EPOCH_MS + 5, worker: 3, sequence: 7 });
        let js = Layout::js();
        assert_eq!(js.id(js.first_word(EPOCH_MS + 50), 63), (5 << 15) | (63 << 9));
        assert!(js.id(js.first_word(js.ends_ms()) - 1, 63) < 1 << 53);
    }

    /// A tick that is only partly reserved is not used: another worker may have the rest.
    #[test]
    fn range_has_whole_ticks_only() {
        let js = Layout::js();
        let ticks = |from, until| (js.word_at(until) - js.first_word(from)) >> 9;
        assert_eq!(ticks(EPOCH_MS + 1, EPOCH_MS + 29), 1, "that of 10 to 20");
        assert_eq!(ticks(EPOCH_MS + 10, EPOCH_MS + 30), 2);
        assert_eq!(js.tick_end_ms(js.first_word(EPOCH_MS + 1)), EPOCH_MS + 20);
    }

    #[test]
    fn ids_of_a_layout_end_with_its_time() {
        let layout = Layout::new(10, 0, 1);
        assert_eq!(layout.ends_ms(), EPOCH_MS + 1024);
        assert_eq!(layout.word_at(u64::MAX), layout.word_at(layout.ends_ms()));
        assert_eq!(layout.id(layout.word_at(u64::MAX) - 1, 0), (1 << 11) - 1);
    }

    #[test]
    fn extreme_layouts_are_checked_and_never_overflow() {
        let bits = [0, 1, 9, 10, 11, 12, 41, 62, 63, 64, u8::MAX];
        let ticks = [Duration::ZERO, Duration::from_nanos(1), Duration::from_millis(1), Duration::from_secs(1)];
        let ticks = ticks.into_iter().chain([Duration::from_millis(1_001), Duration::MAX]);
        let mut accepted = 0;
        for (tick, epoch) in ticks.flat_map(|tick| [0, EPOCH_MS, 1 << 48, u64::MAX].map(|epoch| (tick, epoch))) {
            for (time, worker, sequence) in bits
                .into_iter()
                .flat_map(|a| bits.into_iter().flat_map(move |b| bits.into_iter().map(move |c| (a, b, c))))
            {
                let layout = Layout::new(time, worker, sequence).tick(tick).epoch_ms(epoch);
                assert!(!layout.to_string().is_empty());
                let parts = layout.parts(u64::MAX);
                assert!(parts.unix_ms >= epoch && layout.ends_ms() >= epoch);
                let _any = layout.id(layout.word_at(u64::MAX), u16::MAX).max(layout.tick_end_ms(u64::MAX >> 1));
                if layout.check().is_err() || layout.ends_ms() == u64::MAX {
                    continue;
                }
                accepted += 1;
                let last = layout.id(layout.word_at(u64::MAX) - 1, u16::try_from(layout.workers() - 1).unwrap_or(0));
                assert_eq!(last, (1 << (time + worker + sequence)) - 1, "{layout}");
                assert_eq!(layout.parts(last).sequence, layout.ids_per_tick() - 1);
            }
        }
        assert!(accepted > 100, "{accepted}");
    }
}
