//! `cargo xtask mutants`: removes protocol guards one at a time; the test that the mutant table names must fail.
//!
//! The guards are switches in test builds (`EVENKEEL_MUTANT`), so existing test binaries are reused and nothing is compiled. The test
//! must also pass with its guard in place, because a test that always fails shows nothing: it is run for that, unless all tests have just
//! passed.

mod passed;
mod selection;

use crate::shell;
use crate::test::{self, Park, Suite};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub(crate) use passed::Passed;

const VARIABLE: &str = "EVENKEEL_MUTANT";
const WORKERS: usize = 3;
/// How long a test may take with its guard in place.
const DEADLINE: Duration = Duration::from_secs(300);
/// A test that hangs without its guard also counts as failed: after this time, and after this many times the time that it takes otherwise.
const HANG_MIN: Duration = Duration::from_secs(15);
const HANG_TIMES: u32 = 5;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only guards whose names contain this text
    filter: Option<String>,
    /// Every guard (default: those near a change and a twentieth of the others, as CI does)
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
    let passed = Passed::default();
    let share = match &arguments.filter {
        Some(filter) => Share::Named(filter),
        None if arguments.all => Share::All,
        None => Share::Gate,
    };
    run_on(&park, &share, &passed)
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
pub(crate) fn run_on(park: &Park, share: &Share<'_>, passed: &Passed) -> Result<()> {
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
    let survivors: Mutex<Vec<String>> = Mutex::default();
    let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(mutant) = table.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = Instant::now();
                    let verdict =
                        examine(mutant, &suites, park, passed).unwrap_or_else(|error| Err(format!("{error:#}")));
                    let number = ended.fetch_add(1, Ordering::Relaxed) + 1;
                    let (word, took) = (if verdict.is_ok() { "killed" } else { "SURVIVED" }, start.elapsed().as_secs());
                    let Mutant { name, removes, test } = mutant;
                    println!("{number:>4} of {}  {word:<8} {took:>3} s  {name}: {removes} ({test})", table.len());
                    if let (Err(reason), Ok(mut survivors)) = (verdict, survivors.lock()) {
                        survivors.push(format!("  {name}: {reason}"));
                    }
                }
            });
        }
    });
    let survivors = survivors.into_inner().unwrap_or_default();
    if !survivors.is_empty() || ended.into_inner() != table.len() {
        bail!("{} of {} mutants survived:\n{}", survivors.len(), table.len(), survivors.join("\n"));
    }
    println!("all {} mutants were killed by the tests named for them", table.len());
    Ok(())
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
fn examine(mutant: &Mutant, suites: &[Suite], park: &Park, passed: &Passed) -> Result<Result<(), String>> {
    let (suite, test) = place(mutant, suites)?;
    let took = match passed.time_of(test) {
        Some(took) => took,
        None => {
            let start = Instant::now();
            if attempt(suite, test, None, park, DEADLINE)? != Outcome::Passed {
                return Ok(Err(format!("`{test}` fails with the guard in place")));
            }
            passed.add(test, start.elapsed());
            start.elapsed()
        }
    };
    Ok(match attempt(suite, test, Some(&mutant.name), park, HANG_MIN + took * HANG_TIMES)? {
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
fn attempt(suite: &Suite, test: &str, removed: Option<&str>, park: &Park, deadline: Duration) -> Result<Outcome> {
    let mut command = suite.command(test);
    command.env_remove(VARIABLE).envs(park.addresses()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(guard) = removed {
        command.env(VARIABLE, guard);
    }
    let mut child = command.spawn().with_context(|| suite.to_string())?;
    let start = Instant::now();
    while start.elapsed() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { Outcome::Passed } else { Outcome::Failed });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    Ok(Outcome::Hung)
}
