//! `cargo xtask weight`: how much code the two programs consist of, so that what makes every user's build slow does not grow unnoticed.
//!
//! It counts functions, and the instances of tokio's task harness: tokio compiles a task for each type of future and each scheduler, about
//! twenty functions each. Both are read from the symbols of the debug builds, which the tests have built.

use crate::shell;
use anyhow::{Context, Result, bail};
use std::process::Command;

/// What the programs may consist of. A count that fell is lowered here.
const LIMITS: &[Weight] = &[
    Weight { program: "evenkeel", functions: 190_416, tasks: 85 },
    Weight { program: "shortlink", functions: 159_697, tasks: 78 },
];

/// By how much a count may exceed its limit, in hundredths.
const TOLERANCE: usize = 2;

struct Weight {
    program: &'static str,
    functions: usize,
    tasks: usize,
}

/// Fails if a program has grown.
pub(crate) fn run() -> Result<()> {
    let folder = shell::target()?.join("debug");
    let mut grown = Vec::new();
    for limit in LIMITS {
        let file = folder.join(limit.program);
        let output = Command::new("nm").arg("--defined-only").arg(&file).output().context("`nm` of binutils")?;
        if !output.status.success() {
            bail!("{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
        }
        let (functions, tasks) = count(&String::from_utf8_lossy(&output.stdout));
        for (what, found, most) in
            [("functions", functions, limit.functions), ("instances of tokio's task harness", tasks, limit.tasks)]
        {
            println!("{}: {found} {what}, limit {most}", limit.program);
            if found * 100 > most * (100 + TOLERANCE) {
                grown.push(format!("{} has {found} {what}, more than {TOLERANCE} % above {most}", limit.program));
            }
        }
    }
    if grown.is_empty() {
        return Ok(());
    }
    bail!(
        "{}.\nBox the futures that are spawned (`spawn` of `evenkeel-link`), or say in the commit why a limit in xtask/src/weight.rs rises",
        grown.join("\n")
    )
}

/// The functions and the task harnesses among the symbols of `nm`.
fn count(symbols: &str) -> (usize, usize) {
    let functions = symbols.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next().filter(|kind| kind.eq_ignore_ascii_case("t")).and(words.next())
    });
    let is_task = |name: &&str| name.contains("7harness") && name.contains("4poll17h");
    let (functions, tasks): (Vec<_>, Vec<_>) = functions.map(|name| (name, is_task(&name))).unzip();
    (functions.len(), tasks.into_iter().filter(|is_task| *is_task).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_symbols_and_polls_of_tasks_are_counted() {
        let symbols = "00000010 t _ZN5tokio7runtime4task7harness16Harness$LT$T$C$S$GT$4poll17h0123456789abcdefE\n\
                       00000020 T main\n00000030 r table\n00000040 t _ZN3app4poll17h0123456789abcdefE\n";
        assert_eq!(count(symbols), (3, 1));
    }
}
