//! The feature sets with which the library is checked: a set must compile alone, and no link of its documentation may need a feature outside of it.
//!
//! Each set compiles the dependencies that it selects once more, so a commit checks none, the default, all, and three others in rotation.
//! `cargo xtask check --all` checks every set.

use crate::shell;
use anyhow::Result;

/// How many of the other sets a commit checks.
const ROTATING: usize = 3;

/// Sets of several features, each for what only its members have together.
const COMBINED: &[&str] = &[
    "sqlite,stream",
    "lock,mysql",
    "cache,postgres",
    "queue,sqlite",
    "cache,nats,postgres",
    "cache,queue,lock,sqlite,spool,tls",
];

/// The sets to check, each as cargo takes them.
pub(super) fn sets(every: bool) -> Result<Vec<String>> {
    let capabilities = super::capabilities()?;
    let mut sets = vec![String::new(), "default".to_owned(), capabilities.join(",")];
    let others = others(&capabilities);
    if every {
        sets.extend(others);
        return Ok(sets);
    }
    let turn = usize::try_from(shell::turn()?)?;
    println!(
        "{ROTATING} of {} further feature sets, chosen by the commit (`cargo xtask check --all`: every one)",
        others.len()
    );
    sets.extend(chosen(&others, turn));
    Ok(sets)
}

/// Each feature alone, all but each one, and the combined ones.
fn others(capabilities: &[String]) -> Vec<String> {
    let without =
        |name: &String| capabilities.iter().filter(|other| *other != name).cloned().collect::<Vec<_>>().join(",");
    let combined = COMBINED.iter().map(|set| (*set).to_owned());
    capabilities.iter().cloned().chain(combined).chain(capabilities.iter().map(without)).collect()
}

fn chosen(sets: &[String], turn: usize) -> Vec<String> {
    (0..ROTATING).filter_map(|at| sets.get((turn * ROTATING + at) % sets.len()).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn successive_turns_reach_every_set() {
        let sets: Vec<String> = (0..32).map(|number| number.to_string()).collect();
        let reached: BTreeSet<String> = (0..sets.len()).flat_map(|turn| chosen(&sets, turn)).collect();
        assert_eq!(reached.len(), sets.len());
        assert_eq!(chosen(&sets, 0xff_ffff).len(), ROTATING);
    }
}
