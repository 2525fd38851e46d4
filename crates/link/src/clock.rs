//! The only module that reads a clock. All other code receives a [`Clock`], so that tests control time.
//!
//! Safety never depends on a clock; only liveness and the documented bounds do. A process measures its own deadlines on
//! `CLOCK_BOOTTIME`, which includes the time in which the machine was suspended. Times that several processes must agree on
//! are measured on Redis's `TIME`.
#![expect(clippy::disallowed_methods, reason = "the library's only file that reads clocks and waits for time")]

use std::cell::Cell;
use std::future::Future;
use std::ops::Add;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(feature = "testing")]
use std::sync::Arc;

/// The period of the kernel's tick at 100 Hz, the lowest rate that Linux can be configured with.
const TICK_MAX: Duration = Duration::from_millis(TICK_MS_MAX);
const TICK_MS_MAX: u64 = 10;

/// A point on the process's own clock. Only the difference between two moments has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// Nanoseconds since the clock's zero: an integer, because every near-cache hit compares it. The range is 584 years.
    nanos: u64,
}

impl Moment {
    /// Time passed since `earlier`, zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }

    /// Time since the clock's zero, which is arbitrary and differs between machines.
    pub fn on_clock(self) -> Duration {
        Duration::from_nanos(self.nanos)
    }

    /// The inverse of [`on_clock`](Self::on_clock).
    pub fn from_clock(time: Duration) -> Self {
        Self { nanos: nanos(time) }
    }

    /// Microseconds since the clock's zero.
    #[inline]
    pub(crate) fn micros(self) -> u64 {
        self.nanos / 1000
    }
}

impl Add<Duration> for Moment {
    type Output = Moment;
    fn add(self, span: Duration) -> Moment {
        Moment { nanos: self.nanos.saturating_add(nanos(span)) }
    }
}

/// Whole nanoseconds; `u64::MAX` if there are more.
fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A due time on the wall clock, in ms since 1970. A time before 1970 counts as 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMs(pub u64);

impl From<u64> for UnixMs {
    fn from(ms: u64) -> Self {
        Self(ms)
    }
}

impl From<SystemTime> for UnixMs {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(feature = "jiff")]
impl From<jiff::Timestamp> for UnixMs {
    fn from(time: jiff::Timestamp) -> Self {
        Self(u64::try_from(time.as_millisecond()).unwrap_or(0))
    }
}

/// The time limit passed before the future was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("timed out")]
pub struct Elapsed;

/// The source of time of a program: the machine's clocks or, in tests, a clock that the test advances.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    #[cfg(feature = "testing")]
    manual: Option<Arc<manual::TestTime>>,
}

impl Clock {
    /// The machine's clocks.
    #[must_use]
    pub fn system() -> Self {
        Self::default()
    }

    /// Whether a test controls this clock.
    #[cfg(feature = "testing")]
    pub(crate) fn is_manual(&self) -> bool {
        self.manual.is_some()
    }

    /// The current time on the clock that measures the deadlines of this process.
    #[must_use]
    pub fn now(&self) -> Moment {
        #[cfg(feature = "testing")]
        if let Some(manual_time) = &self.manual {
            return Moment::from_clock(manual_time.now());
        }
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let (seconds, nanos) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
        Moment { nanos: seconds.saturating_mul(1_000_000_000).saturating_add(nanos) }
    }

    /// An upper bound of the current time, at most 10 ms ahead of [`now`](Self::now), at a sixth of its cost. A deadline that has not
    /// passed at this moment has not passed now. A test clock returns the exact time.
    ///
    /// The kernel updates its coarse wall clock at every tick, and reading that clock is cheap. While its value is unchanged, no tick has
    /// passed since this thread last read the precise clock. After a suspend, or when the wall clock is set, the value differs and the
    /// precise clock is read again.
    #[inline(always)]
    pub fn soon(&self) -> Moment {
        thread_local!(static LAST: Cell<(i64, i64, Moment)> = const { Cell::new((0, 0, Moment { nanos: 0 })) });
        #[cfg(feature = "testing")]
        if self.is_manual() {
            return self.now();
        }
        let coarse = coarse_wall_clock();
        LAST.with(|last| {
            let (seconds, nanos, soon) = last.get();
            if (seconds, nanos) == (coarse.tv_sec, coarse.tv_nsec) {
                return soon;
            }
            let soon = self.now() + TICK_MAX;
            last.set((coarse.tv_sec, coarse.tv_nsec, soon));
            soon
        })
    }

    /// An upper bound of [`unix_ms`](Self::unix_ms), as [`soon`](Self::soon) is one of [`now`](Self::now).
    #[inline]
    pub fn soon_unix_ms(&self) -> u64 {
        #[cfg(feature = "testing")]
        if self.is_manual() {
            return self.unix_ms();
        }
        let coarse = coarse_wall_clock();
        let (seconds, nanos) = (u64::try_from(coarse.tv_sec).unwrap_or(0), u64::try_from(coarse.tv_nsec).unwrap_or(0));
        seconds.saturating_mul(1000) + nanos / 1_000_000 + TICK_MS_MAX
    }

    /// Milliseconds since 1970 on this machine's wall clock, which may differ from the clocks of other machines.
    #[must_use]
    pub fn unix_ms(&self) -> u64 {
        #[cfg(feature = "testing")]
        if let Some(manual_time) = &self.manual {
            return manual_time.unix_ms();
        }
        UnixMs::from(SystemTime::now()).0
    }

    /// Sleeps for `span`.
    pub async fn sleep(&self, span: Duration) {
        #[cfg(feature = "testing")]
        if let Some(manual_time) = &self.manual {
            return manual_time.sleep(span).await;
        }
        tokio::time::sleep(span).await;
    }

    /// Sleeps until `moment`; returns at once if it has passed.
    pub async fn sleep_until(&self, moment: Moment) {
        self.sleep(moment.since(self.now())).await;
    }

    /// Runs `future` for at most `limit`.
    ///
    /// # Errors
    /// [`Elapsed`] if the limit passed first; the future is dropped.
    pub async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Result<F::Output, Elapsed> {
        tokio::select! {
            biased;
            output = future => Ok(output),
            () = self.sleep(limit) => Err(Elapsed),
        }
    }
}

/// The wall clock at the kernel's last tick.
#[inline]
fn coarse_wall_clock() -> rustix::time::Timespec {
    rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse)
}

#[cfg(feature = "testing")]
pub use manual::TestClock;

#[cfg(feature = "testing")]
mod manual {
    //! A clock that a test advances.

    use super::Clock;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;
    use tokio::sync::watch;

    /// The wall-clock time at which a manual clock starts, in ms: a fixed date, so that failures are reproducible.
    const START_UNIX_MS: u64 = 1_700_000_000_000;

    #[derive(Debug)]
    pub(crate) struct TestTime {
        passed: watch::Sender<Duration>,
        /// The total by which the wall clock was set back.
        set_back_ms: AtomicU64,
        /// Set for a clock that follows the runtime's paused time and is not advanced by a test.
        simulated_since: Option<tokio::time::Instant>,
    }

    impl TestTime {
        fn new(simulated_since: Option<tokio::time::Instant>) -> Self {
            Self { passed: watch::Sender::new(Duration::ZERO), set_back_ms: AtomicU64::new(0), simulated_since }
        }

        pub(crate) fn now(&self) -> Duration {
            self.simulated_since.map_or_else(|| *self.passed.borrow(), |start| start.elapsed())
        }

        pub(crate) fn unix_ms(&self) -> u64 {
            let passed_ms = u64::try_from(self.now().as_millis()).unwrap_or(u64::MAX);
            START_UNIX_MS + passed_ms - self.set_back_ms.load(Ordering::SeqCst)
        }

        pub(crate) async fn sleep(&self, span: Duration) {
            if self.simulated_since.is_some() {
                return tokio::time::sleep(span).await;
            }
            let until = self.now().saturating_add(span);
            // The sender lives in `self`, so waiting cannot fail.
            let _ = self.passed.subscribe().wait_for(|passed| *passed >= until).await;
        }
    }

    /// Controls a manual clock: time passes only when a test advances it.
    #[derive(Clone, Debug)]
    pub struct TestClock(Arc<TestTime>);

    impl Default for TestClock {
        fn default() -> Self {
            Self(Arc::new(TestTime::new(None)))
        }
    }

    impl Clock {
        /// A clock that follows the tokio runtime's time. On a runtime with paused time, sleeping takes no real time and the runtime
        /// advances to the next timer, so hours of a test take seconds and repeat exactly.
        #[must_use]
        pub fn simulated() -> Self {
            Self { manual: Some(Arc::new(TestTime::new(Some(tokio::time::Instant::now())))) }
        }
    }

    impl TestClock {
        /// The clock to pass to the program under test.
        #[must_use]
        pub fn clock(&self) -> Clock {
            Clock { manual: Some(Arc::clone(&self.0)) }
        }

        /// Advances time and wakes the sleepers whose time has come.
        pub fn advance(&self, span: Duration) {
            self.0.passed.send_modify(|passed| *passed += span);
        }

        /// Sets the wall clock back, as an operator or a time server may do; the monotonic clock is unaffected.
        pub fn set_back(&self, span: Duration) {
            let span_ms = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
            self.0.set_back_ms.fetch_add(span_ms, Ordering::SeqCst);
        }
    }
}
