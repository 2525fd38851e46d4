//! Named points at which a test lets the process die as if somebody had killed it (SIGKILL).
//!
//! Without the feature `testing` there are none.

/// Dies here if a test has named this point in `EVENKEEL_CRASH_AT`.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub(crate) const fn crash_point(_name: &str) {}

/// Dies here if a test has named this point in `EVENKEEL_CRASH_AT`.
#[cfg(feature = "testing")]
pub(crate) fn crash_point(name: &str) {
    if std::env::var("EVENKEEL_CRASH_AT").as_deref() == Ok(name) {
        // Cannot fail: a process may always kill itself.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        loop {
            std::thread::park();
        }
    }
}
