//! Switches that remove one guard of a service each, so that a test can show that the guard is necessary (the mutant table of the test kit).
//!
//! Without the feature `testing` every guard is the constant `true` and has no cost.

/// Whether the guard `name` is active. `false` only in a test run that names it in `EVENKEEL_MUTANT`.
#[cfg(not(feature = "testing"))]
#[inline(always)]
#[must_use]
pub const fn guard(_name: &str) -> bool {
    true
}

/// Whether the guard `name` is active. `false` only in a test run that names it in `EVENKEEL_MUTANT`.
#[cfg(feature = "testing")]
#[must_use]
pub fn guard(name: &str) -> bool {
    use std::sync::OnceLock;
    static REMOVED: OnceLock<Option<String>> = OnceLock::new();
    REMOVED.get_or_init(|| std::env::var("EVENKEEL_MUTANT").ok()).as_deref() != Some(name)
}
