//! `cargo xtask mutants`: removes protocol guards one at a time; the test that the mutant table names must fail.
//!
//! The guards are switches in test builds (`EVENKEEL_MUTANT`), so existing test binaries are reused and nothing is compiled. The test
//! must also pass with its guard in place, because a test that always fails shows nothing.

mod selection;

use crate::shell;
use crate::test::{self, Park, Suite};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const VARIABLE: &str = "EVENKEEL_MUTANT";
const WORKERS: usize = 3;
/// A test that hangs without its guard also counts as failed. The longest test of the table takes a minute: it restarts a program after
/// each step of its migrations on MariaDB.
const DEADLINE: Duration = Duration::from_secs(180);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only guards whose names contain this text
    filter: Option<String>,
    /// Every guard (default: those near a change and a fifth of the others, as CI does)
    #[arg(long, conflicts_with = "filter")]
    all: bool,
}

/// Which mutants to run.
pub(crate) enum Share<'a> {
    All,
    Gate,
    Named(&'a str),
}

/// One row of the test kit's table.
#[derive(Deserialize)]
struct Mutant {
    name: String,
    removes: String,
    test: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Hung,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    test::build()?;
    let park = Park::start(&[])?;
    let share = match &arguments.filter {
        Some(filter) => Share::Named(filter),
        None if arguments.all => Share::All,
        None => Share::Gate,
    };
    run_on(&park, &share)
}

/// Fails unless each row of the table names exactly one test. Takes seconds, so it runs before the tests and not with the mutants.
pub(crate) fn expect_tests() -> Result<()> {
    let suites = Suite::all()?;
    let wrong: Vec<String> = table()?
        .iter()
        .filter_map(|mutant| Some(format!("  {}: {:#}", mutant.name, place(mutant, &suites).err()?)))
        .collect();
    if !wrong.is_empty() {
        bail!("{} rows of the mutant table do not name one test:\n{}", wrong.len(), wrong.join("\n"));
    }
    Ok(())
}

/// Runs the mutants on servers that are already running.
pub(crate) fn run_on(park: &Park, share: &Share<'_>) -> Result<()> {
    let mut table = table()?;
    match share {
        Share::All => {}
        Share::Named(filter) => table.retain(|mutant| mutant.name.contains(filter)),
        Share::Gate => {
            let (chosen, summary) = selection::for_the_gate(table)?;
            table = chosen;
            println!("{summary}");
        }
    }
    let suites = Suite::all()?;
    let verdicts: Mutex<BTreeMap<usize, Result<(), String>>> = Mutex::default();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((index, mutant)) = take(&next, &table) {
                    let verdict = examine(mutant, &suites, park).unwrap_or_else(|error| Err(format!("{error:#}")));
                    if let Ok(mut verdicts) = verdicts.lock() {
                        verdicts.insert(index, verdict);
                    }
                }
            });
        }
    });
    let verdicts = verdicts.into_inner().unwrap_or_default();
    let width = table.iter().map(|mutant| mutant.name.len()).max().unwrap_or(0);
    for (index, mutant) in table.iter().enumerate() {
        let verdict = match verdicts.get(&index) {
            Some(Ok(())) => "killed  ",
            _ => "SURVIVED",
        };
        println!("{verdict}  {:width$}  {}  ({})", mutant.name, mutant.removes, mutant.test);
    }
    let survivors: Vec<String> = verdicts
        .iter()
        .filter_map(|(index, verdict)| Some(format!("  {}: {}", table[*index].name, verdict.as_ref().err()?)))
        .collect();
    if !survivors.is_empty() || verdicts.len() != table.len() {
        bail!("{} of {} mutants survived:\n{}", survivors.len(), table.len(), survivors.join("\n"));
    }
    println!("all {} mutants were killed by the tests named for them", table.len());
    Ok(())
}

fn take<'a>(next: &AtomicUsize, table: &'a [Mutant]) -> Option<(usize, &'a Mutant)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, table.get(index)?))
}

fn table() -> Result<Vec<Mutant>> {
    let output = Command::new(shell::target()?.join("debug/evenkeel-testkit")).arg("mutants").output();
    let output = output.context("the test kit's program could not be started")?;
    if !output.status.success() {
        bail!("the test kit's program did not print the mutant table: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("the test kit's mutant table")
}

/// The outer error means that the test could not run, the inner one that the mutant survived.
fn examine(mutant: &Mutant, suites: &[Suite], park: &Park) -> Result<Result<(), String>> {
    let (suite, test) = place(mutant, suites)?;
    if attempt(suite, test, None, park)? != Outcome::Passed {
        return Ok(Err(format!("`{test}` fails with the guard in place")));
    }
    Ok(match attempt(suite, test, Some(&mutant.name), park)? {
        Outcome::Failed | Outcome::Hung => Ok(()),
        Outcome::Passed => Err(format!("`{test}` passes without the guard")),
    })
}

/// The test that the row names, by its path or the end of its path.
fn place<'a>(mutant: &'a Mutant, suites: &'a [Suite]) -> Result<(&'a Suite, &'a str)> {
    let end = format!("::{}", mutant.test);
    let found: Vec<(&Suite, &str)> = suites
        .iter()
        .flat_map(|suite| suite.tests().map(move |test| (suite, test)))
        .filter(|(_, test)| *test == mutant.test || test.ends_with(&end))
        .collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => bail!("there is no test `{}`", mutant.test),
        many => bail!("{} tests match `{}`: use a longer part of the path", many.len(), mutant.test),
    }
}

#[expect(clippy::disallowed_methods, reason = "waits for a child process with a deadline")]
fn attempt(suite: &Suite, test: &str, removed: Option<&str>, park: &Park) -> Result<Outcome> {
    let mut command = suite.command(test);
    command.env_remove(VARIABLE).envs(park.addresses()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(guard) = removed {
        command.env(VARIABLE, guard);
    }
    let mut child = command.spawn().with_context(|| suite.to_string())?;
    let start = Instant::now();
    while start.elapsed() < DEADLINE {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { Outcome::Passed } else { Outcome::Failed });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    Ok(Outcome::Hung)
}
