//! Switches that remove one protocol guard each, so that a test can show that the guard is necessary (the mutant table).
//!
//! Without the feature `testing` every guard is the constant `true` and has no cost.

/// Whether the guard `name` is active. `false` only in a test run that names it in `EVENKEEL_MUTANT`.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub const fn guard(_name: &str) -> bool {
    true
}

/// Whether the guard `name` is active. `false` only in a test run that names it in `EVENKEEL_MUTANT`.
#[cfg(feature = "testing")]
pub fn guard(name: &str) -> bool {
    use std::sync::OnceLock;
    static REMOVED: OnceLock<Option<String>> = OnceLock::new();
    REMOVED.get_or_init(|| std::env::var("EVENKEEL_MUTANT").ok()).as_deref() != Some(name)
}
