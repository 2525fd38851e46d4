//! The arithmetic of limits: a pure function of the buckets, the quotas and the time. The model, the embedded backend and the fallback without
//! Redis use it; `shared/` has the same in Lua.

mod rate;
mod window;

use super::quota::Quota;
use evenkeel_link::support::guard;
use rate::RateBucket;
use window::WindowBucket;

/// How long a bucket is stored after it is full again.
const RETAINED_MS: u64 = 60_000;

/// The state of one level for one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bucket {
    /// Of a rate.
    Rate(RateBucket),
    /// Of a window.
    Window(WindowBucket),
}

/// What a debit has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Debited {
    /// Every level was debited.
    Admitted {
        /// When the caller may continue: after so many milliseconds.
        wait_ms: u64,
        /// The fewest tokens that a level has left then.
        remaining: u64,
    },
    /// No level was debited.
    Refused {
        /// The wait that would be needed.
        retry_after_ms: u64,
        /// The level that needs it, counted from 0.
        level: usize,
    },
}

impl Debited {
    /// Whether it is a refusal.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

/// Debits `tokens` of every level, or of none: of none if that needs a longer wait than `wait_ms_max`. `buckets` are the stored ones; those to be stored
/// are returned, each with its place in `buckets`.
pub(super) fn debit(
    quotas: &[Quota],
    buckets: Vec<Option<Bucket>>,
    tokens: u32,
    wait_ms_max: u64,
    now: u64,
) -> (Debited, Vec<(usize, Bucket)>) {
    let mut all: Vec<Opened> =
        quotas.iter().zip(buckets).map(|(quota, stored)| Opened::new(*quota, stored, now)).collect();
    // The level that needs the longest wait.
    let mut longest = (0, 0);
    for (level, opened) in all.iter().enumerate() {
        let wait_ms = opened.wait_ms(tokens, now);
        if wait_ms > longest.0 || !guard("model_limit_all_levels") {
            longest = (wait_ms, level);
        }
    }
    let (wait_ms, level) = longest;
    if wait_ms > wait_ms_max {
        // Otherwise each later call would find a bucket from the future, without a refill since.
        let is_stored = |opened: &Opened| opened.is_set_back && guard("model_limit_refusal_stores_set_back");
        let stored = all.into_iter().enumerate().filter(|(_, opened)| is_stored(opened));
        let stored = stored.map(|(place, opened)| (place, opened.bucket)).collect();
        return (Debited::Refused { retry_after_ms: wait_ms, level }, stored);
    }
    let left = all.iter_mut().map(|opened| opened.debit(tokens, now, wait_ms));
    let remaining = left.min().unwrap_or(0);
    (Debited::Admitted { wait_ms, remaining }, all.into_iter().map(|opened| opened.bucket).enumerate().collect())
}

impl Bucket {
    /// When it is full again, and not needed any more, after it was written at `now` under this quota.
    pub(super) fn expires_ms(&self, quota: &Quota, now: u64) -> u64 {
        let full_ms = match (self, quota) {
            (Self::Rate(bucket), Quota::Rate(rate)) => bucket.full_ms(rate.units()),
            (Self::Window(bucket), Quota::Window(window)) => bucket.full_ms(window.slot_ms()),
            _ => now,
        };
        full_ms.saturating_add(RETAINED_MS)
    }
}

/// The bucket of a level at the time of a call.
struct Opened {
    quota: Quota,
    bucket: Bucket,
    /// It was written in the future: the clock was set back.
    is_set_back: bool,
}

impl Opened {
    fn new(quota: Quota, stored: Option<Bucket>, now: u64) -> Self {
        let (bucket, is_set_back) = match (quota, stored) {
            (Quota::Rate(rate), Some(Bucket::Rate(stored))) => {
                (Bucket::Rate(stored.at(rate.units(), now)), stored.is_from_future(now))
            }
            (Quota::Window(window), Some(Bucket::Window(stored))) => {
                let is_set_back = stored.is_from_future(now);
                (Bucket::Window(stored.at(window.slot_ms(), now)), is_set_back)
            }
            (Quota::Rate(rate), _) => (Bucket::Rate(RateBucket::new(rate.units(), now)), false),
            (Quota::Window(window), _) => (Bucket::Window(WindowBucket::new(window.slot_ms(), now)), false),
        };
        Self { quota, bucket, is_set_back }
    }

    fn wait_ms(&self, tokens: u32, now: u64) -> u64 {
        match (&self.bucket, self.quota) {
            (Bucket::Rate(bucket), Quota::Rate(rate)) => bucket.wait_ms(rate.units(), tokens),
            (Bucket::Window(bucket), Quota::Window(window)) => bucket.wait_ms(window, tokens, now),
            _ => 0,
        }
    }

    /// Returns the tokens left at the time of the debit.
    fn debit(&mut self, tokens: u32, now: u64, wait_ms: u64) -> u64 {
        match (&mut self.bucket, self.quota) {
            (Bucket::Rate(bucket), Quota::Rate(rate)) => bucket.debit(rate.units(), tokens, wait_ms),
            (Bucket::Window(bucket), Quota::Window(window)) => bucket.debit(window, tokens, now + wait_ms),
            _ => 0,
        }
    }
}
