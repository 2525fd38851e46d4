//! Which mutants the gate runs: those near a change, and a rotating fifth of the others.
//!
//! `mutants-killed-at.txt` beside this file names the commit at which `cargo xtask mutants --all` killed every one. A guard
//! or a test in a file that has changed since then is run each time; of the others each commit runs a fifth, so that a rare
//! loss is found within a few commits and the gate's time does not grow with the table.

use super::Mutant;
use crate::shell;
use anyhow::{Context, Result};
use std::process::Command;

const KILLED_AT: &str = include_str!("mutants-killed-at.txt");
const SHARES: u32 = 5;

/// What the gate runs of the table, and the sentence that says so.
pub(crate) fn for_the_gate(table: Vec<Mutant>) -> Result<(Vec<Mutant>, String)> {
    let all = table.len();
    let Some(changed) = changed_since(KILLED_AT.trim())? else {
        return Ok((table, format!("all {all}: this checkout does not reach the commit at which all were killed")));
    };
    let turn = u32::from_str_radix(head()?.get(..6).unwrap_or("0"), 16).unwrap_or(0) % SHARES;
    let chosen: Vec<Mutant> =
        table.into_iter().filter(|mutant| is_near(mutant, &changed) || share(&mutant.name) == turn).collect();
    let sentence = format!(
        "{} of {all}: those in or tested by a file changed since {}, and a fifth of the others; `cargo xtask mutants --all` runs every one",
        chosen.len(),
        KILLED_AT.get(..10).unwrap_or(KILLED_AT)
    );
    Ok((chosen, sentence))
}

/// Whether a changed file holds its guard or its test.
fn is_near(mutant: &Mutant, changed: &[String]) -> bool {
    let function = mutant.test.rsplit("::").next().unwrap_or(&mutant.test);
    let marks = [
        format!("guard(\"{}\")", mutant.name),
        format!("guard: {}\n", mutant.name),
        format!("fn {function}("),
        format!("{function},"),
    ];
    changed.iter().any(|text| marks.iter().any(|mark| text.contains(mark)))
}

/// A name keeps its share when rows are added or moved.
fn share(name: &str) -> u32 {
    name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % SHARES
}

/// The texts of the sources that differ from that commit; nothing if the checkout does not have it.
fn changed_since(commit: &str) -> Result<Option<Vec<String>>> {
    let output = git(&["diff", "--name-only", "--diff-filter=d", commit, "--", "crates", "apps"])?;
    let Some(names) = output else { return Ok(None) };
    let source = |name: &&str| name.ends_with(".rs") || name.ends_with(".lua");
    let read = |name: &str| std::fs::read_to_string(shell::root().join(name)).with_context(|| name.to_owned());
    names.lines().filter(source).map(read).collect::<Result<Vec<String>>>().map(Some)
}

fn head() -> Result<String> {
    Ok(git(&["rev-parse", "HEAD"])?.unwrap_or_default())
}

/// What git prints; nothing where it fails.
fn git(arguments: &[&str]) -> Result<Option<String>> {
    let output = Command::new("git").args(arguments).current_dir(shell::root()).output().context("git")?;
    Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(name: &str, test: &str) -> Mutant {
        Mutant { name: name.to_owned(), removes: String::new(), test: test.to_owned() }
    }

    #[test]
    fn a_changed_guard_script_or_test_selects_its_mutant() {
        let row = mutant("fill_grant", "fences::a_slow_load_is_refused");
        for text in
            ["if guard(\"fill_grant\") {", "if x then -- guard: fill_grant\n", "async fn a_slow_load_is_refused() {"]
        {
            assert!(is_near(&row, &[text.to_owned()]), "{text}");
        }
        assert!(!is_near(&row, &["guard(\"fill_grant_of_another\")".to_owned()]));
    }

    #[test]
    fn every_name_has_one_of_five_turns() {
        let turns: std::collections::BTreeSet<u32> = ["a", "b", "c", "d", "e"].iter().map(|name| share(name)).collect();
        assert_eq!(turns.len(), 5);
    }
}
