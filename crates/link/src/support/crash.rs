//! Named points at which a test makes the process kill itself (SIGKILL).
//!
//! Without the feature `testing` they do nothing.

/// Kills the process if `EVENKEEL_CRASH_AT` names this point; `name:3` means the third visit.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub const fn crash_point(_name: &str) {}

/// Kills the process if `EVENKEEL_CRASH_AT` names this point; `name:3` means the third visit.
#[cfg(feature = "testing")]
pub fn crash_point(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static VISITS: AtomicU32 = AtomicU32::new(0);
    if let Some((_, visit)) = requested().filter(|(point, _)| point == name)
        && VISITS.fetch_add(1, Ordering::SeqCst) + 1 == *visit
    {
        // Cannot fail: a process may always send itself a signal.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        loop {
            std::thread::park();
        }
    }
}

/// Whether `EVENKEEL_CRASH_AT` names this point, for this or a later visit.
#[cfg(feature = "testing")]
pub fn is_requested_at(name: &str) -> bool {
    requested().is_some_and(|(point, _)| point == name)
}

#[cfg(feature = "testing")]
fn requested() -> Option<&'static (String, u32)> {
    use std::sync::OnceLock;
    static REQUESTED: OnceLock<Option<(String, u32)>> = OnceLock::new();
    let read = || {
        let text = std::env::var("EVENKEEL_CRASH_AT").ok()?;
        let (point, visit) = text.split_once(':').unwrap_or((&text, "1"));
        Some((point.to_owned(), visit.parse().unwrap_or(1)))
    };
    REQUESTED.get_or_init(read).as_ref()
}
