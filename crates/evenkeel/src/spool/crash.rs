//! Points at which a test kills the process, to see what it leaves behind.

/// Ends the process as `kill -9` does, if a test named this point in `EVENKEEL_CRASH`. `name:3` means the third time.
#[cfg(feature = "testing")]
pub(super) fn crash_point(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};
    static WANTED: OnceLock<Option<(String, u32)>> = OnceLock::new();
    static PASSED: AtomicU32 = AtomicU32::new(0);
    let wanted = WANTED.get_or_init(|| {
        let text = std::env::var("EVENKEEL_CRASH").ok()?;
        let (point, time) = text.split_once(':').unwrap_or((&text, "1"));
        Some((point.to_owned(), time.parse().unwrap_or(1)))
    });
    if let Some((point, time)) = wanted
        && point == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *time
    {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

/// Nothing, outside of tests.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub(super) const fn crash_point(_name: &str) {}
