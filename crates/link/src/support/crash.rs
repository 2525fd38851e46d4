//! Named points at which a test lets the process die as if somebody had killed it (SIGKILL).
//!
//! Without the feature `testing` there are none.

/// Dies here if a test has named this point in `EVENKEEL_CRASH_AT`; `name:3` means the third visit.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub const fn crash_point(_name: &str) {}

/// Dies here if a test has named this point in `EVENKEEL_CRASH_AT`; `name:3` means the third visit.
#[cfg(feature = "testing")]
pub fn crash_point(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static VISITS: AtomicU32 = AtomicU32::new(0);
    if let Some((_, visit)) = wanted().filter(|(point, _)| point == name)
        && VISITS.fetch_add(1, Ordering::SeqCst) + 1 == *visit
    {
        // Cannot fail: a process may always kill itself.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        loop {
            std::thread::park();
        }
    }
}

/// Whether a test wants the process to die at this point, now or at a later visit.
#[cfg(feature = "testing")]
pub fn is_wanted_at(name: &str) -> bool {
    wanted().is_some_and(|(point, _)| point == name)
}

#[cfg(feature = "testing")]
fn wanted() -> Option<&'static (String, u32)> {
    use std::sync::OnceLock;
    static WANTED: OnceLock<Option<(String, u32)>> = OnceLock::new();
    let read = || {
        let text = std::env::var("EVENKEEL_CRASH_AT").ok()?;
        let (point, visit) = text.split_once(':').unwrap_or((&text, "1"));
        Some((point.to_owned(), visit.parse().unwrap_or(1)))
    };
    WANTED.get_or_init(read).as_ref()
}
