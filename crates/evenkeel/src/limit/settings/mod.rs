//! The settings of a limit, and their validation.

pub(super) mod builder;

use evenkeel_protocol::limit::error::LimitError;
use evenkeel_protocol::limit::name::check_name;
use evenkeel_protocol::limit::quota::{LEVELS_MAX, Quota};
use std::sync::Arc;

/// What a limit does while Redis is not reachable, does not reply within 40 ms, or returns an error. The embedded store is always available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WithoutRedis {
    /// Each instance admits its share: the quotas divided by the number of instances last seen, at least one token each. Default.
    ///
    /// Not guaranteed: the whole quota exactly. Instances come and go; one that has never reached Redis counts only itself; and when Redis returns, its
    /// buckets do not know what was admitted meanwhile.
    #[default]
    Local,
    /// Admits every call: for limits that protect fairness.
    Open,
    /// Refuses every call: for limits that protect a resource, or guesses of a password.
    Closed,
}

/// A level of a limit.
#[derive(Clone, Debug)]
pub(super) struct LevelSettings {
    pub(super) name: Arc<str>,
    pub(super) quota: Quota,
}

/// Rejects invalid settings, with one sentence.
pub(super) fn check(limit: &str, levels: &[LevelSettings]) -> Result<(), LimitError> {
    check_name("limit", limit)?;
    let refuse = |reason: String| Err(LimitError::Settings { limit: limit.to_owned(), reason });
    if levels.is_empty() || levels.len() > LEVELS_MAX {
        return refuse(format!("it has {} levels; set 1 to {LEVELS_MAX} with `level`", levels.len()));
    }
    for (place, level) in levels.iter().enumerate() {
        check_name("level", &level.name)?;
        if levels[..place].iter().any(|other| other.name == level.name) {
            return refuse(format!("two levels are named {}; name them differently", level.name));
        }
        if let Err(reason) = level.quota.check() {
            return refuse(format!("level {}: {reason}", level.name));
        }
    }
    Ok(())
}
