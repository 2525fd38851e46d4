//! Switches that remove one protocol guard each, so that a test can show that the guard is needed (the mutant table).
//!
//! Without the feature `testing` every guard is a constant `true` and costs nothing.

/// Whether the guard `name` stands. Only a test run that names this guard in `EVENKEEL_MUTANT` sees `false`.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub const fn guard(_name: &str) -> bool {
    true
}

/// Whether the guard `name` stands. Only a test run that names this guard in `EVENKEEL_MUTANT` sees `false`.
#[cfg(feature = "testing")]
pub fn guard(name: &str) -> bool {
    use std::sync::OnceLock;
    static REMOVED: OnceLock<Option<String>> = OnceLock::new();
    REMOVED.get_or_init(|| std::env::var("EVENKEEL_MUTANT").ok()).as_deref() != Some(name)
}
