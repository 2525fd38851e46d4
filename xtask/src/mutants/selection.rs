//! Selects the mutants that CI runs: those near a change, and a rotating twentieth of the others.
//!
//! `mutants-killed-at.txt` in this folder names the commit at which every mutant was killed, or at which those were that are near a change
//! since the commit that the file named before. If a file with the guard or the test has changed since then, the mutant runs each time. Each
//! commit also runs a twentieth of the others, so a regression of them is found within some commits, and the time does not grow with the table.

use super::Mutant;
use crate::shell::{self, git};
use anyhow::{Context, Result};

const KILLED_AT: &str = include_str!("mutants-killed-at.txt");
const SHARES: u32 = 20;

/// The selected mutants, and a summary of the selection.
pub(crate) fn for_the_gate(table: Vec<Mutant>) -> Result<(Vec<Mutant>, String)> {
    let all = table.len();
    let Some(changed) = changed_since(KILLED_AT.trim())? else {
        return Ok((table, format!("all {all} mutants: this checkout lacks the commit at which all were killed")));
    };
    let turn = shell::turn()? % SHARES;
    let chosen: Vec<Mutant> =
        table.into_iter().filter(|mutant| is_near(mutant, &changed) || share(&mutant.name) == turn).collect();
    let summary = format!(
        "{} of {all} mutants: those in or tested by a file changed since {}, and a twentieth of the others (`cargo xtask mutants --all` runs all)",
        chosen.len(),
        KILLED_AT.get(..10).unwrap_or(KILLED_AT)
    );
    Ok((chosen, summary))
}

/// Whether a changed file contains its guard or its test.
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

/// The share depends on the name only, so adding or moving rows does not change it.
fn share(name: &str) -> u32 {
    name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % SHARES
}

/// The contents of the sources that differ from that commit; `None` if the checkout lacks it.
fn changed_since(commit: &str) -> Result<Option<Vec<String>>> {
    let output = git(&["diff", "--name-only", "--diff-filter=d", commit, "--", "crates", "apps"])?;
    let Some(names) = output else { return Ok(None) };
    let source = |name: &&str| name.ends_with(".rs") || name.ends_with(".lua");
    let read = |name: &str| std::fs::read_to_string(shell::root().join(name)).with_context(|| name.to_owned());
    names.lines().filter(source).map(read).collect::<Result<Vec<String>>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(name: &str, test: &str) -> Mutant {
        Mutant { name: name.to_owned(), removes: String::new(), test: test.to_owned() }
    }

    #[test]
    fn changed_guard_script_or_test_selects_its_mutant() {
        let row = mutant("fill_grant", "fences::a_slow_load_is_refused");
        for text in
            ["if guard(\"fill_grant\") {", "if x then -- guard: fill_grant\n", "async fn a_slow_load_is_refused() {"]
        {
            assert!(is_near(&row, &[text.to_owned()]), "{text}");
        }
        assert!(!is_near(&row, &["guard(\"fill_grant_of_another\")".to_owned()]));
    }

    #[test]
    fn names_are_spread_over_all_shares() {
        let turns: std::collections::BTreeSet<u32> = ('a'..='t').map(|name| share(&name.to_string())).collect();
        assert_eq!(turns.len(), SHARES as usize);
    }
}
