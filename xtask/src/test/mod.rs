//! `cargo xtask test`: runs everything against real servers, which are started once for the whole run.

mod examples;
mod matrix;
mod park;
mod suite;

use crate::fuzz;
use crate::mutants::{self, Passed, Share};
use crate::setup;
use crate::shell::{self, cargo};
use crate::steps::Steps;
use crate::weight;
use anyhow::Result;
use std::num::NonZeroUsize;
use std::path::PathBuf;

pub(crate) use matrix::mysql;
pub(crate) use park::Park;
pub(crate) use suite::Suite;

/// The steps of a whole run.
const PLAN: &[&str] = &[
    "build",
    "mutant table",
    "servers",
    "steps as scripts",
    "tests",
    "weight of the programs",
    "documentation tests",
    "examples",
    "fuzz",
    "mutants",
];

/// The setting of nextest that a user may override.
const THREADS: &str = "NEXTEST_TEST_THREADS";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run the tests that depend on a server on each server that `setup --matrix` unpacked
    #[arg(long)]
    matrix: bool,
    /// Only servers of the matrix whose name and version contain this text, for example "Valkey 9"
    #[arg(long, value_name = "TEXT", requires = "matrix")]
    server: Option<String>,
    /// Folder of the unpacked servers (default: target/matrix)
    #[arg(long, value_name = "DIR", env = "EVENKEEL_MATRIX")]
    matrix_dir: Option<PathBuf>,
    /// Run only these tests: filters and options of `cargo nextest run`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "NEXTEST")]
    filters: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    setup::expect_all(arguments.matrix)?;
    let is_whole = !arguments.matrix && arguments.filters.is_empty();
    let plan = if is_whole { PLAN } else { &[] };
    let mut steps = Steps::new("test", plan);
    steps.step("build", build)?;
    steps.step("mutant table", mutants::expect_tests)?;
    let filters: Vec<&str> = arguments.filters.iter().map(String::as_str).collect();
    if arguments.matrix {
        matrix::run(&mut steps, arguments.matrix_dir.clone(), arguments.server.as_deref(), &filters)?;
        steps.finish();
        return Ok(());
    }
    let park = steps.step("servers", || Park::start(&[]))?;
    if filters.is_empty() {
        steps.step("steps as scripts", || as_scripts(&park))?;
    }
    steps.step("tests", || nextest(&park, &filters))?;
    if filters.is_empty() {
        steps.step("weight of the programs", weight::run)?;
        steps.step("documentation tests", || shell::run(&mut cargo(&["test", "--workspace", "--doc", "--quiet"])))?;
        steps.step("examples", || examples::run(&park))?;
        steps.step("fuzz", fuzz::briefly)?;
        steps.step("mutants", || mutants::run_on(&park, &Share::Gate, &Passed::in_last_run()?))?;
    }
    steps.finish();
    Ok(())
}

/// Builds every test, so that the times of later steps do not include it.
pub(crate) fn build() -> Result<()> {
    shell::run(&mut cargo(&["nextest", "run", "--workspace", "--no-run"]))
}

/// Models against steps, crash points, the loading of steps, and a history under faults of each capability once more, as on a server that refuses
/// functions. Before all tests, because the mutants look up which tests passed in the last run.
fn as_scripts(park: &Park) -> Result<()> {
    let steps = "side_by_side|crash_points|link::functions|permissions";
    let faults = "histories::fresh_reads|histories::eventual|histories::redis_locks|redlock::servers|side::killed|killed::flush_loses_only_what|\
                  side::sequences|outages::storm|outages::recovery";
    let tests = format!("package(evenkeel) & test(/{steps}|{faults}/)");
    let mut command = cargo(&["nextest", "run", "--workspace", "-E", &tests]);
    command.envs(park.addresses()).env("EVENKEEL_FUNCTIONS", "off");
    shell::run(&mut command)
}

fn nextest(park: &Park, filters: &[&str]) -> Result<()> {
    let mut command = cargo(&["nextest", "run", "--workspace"]);
    command.args(filters).envs(park.addresses());
    if std::env::var_os(THREADS).is_none() {
        command.env(THREADS, threads().to_string());
    }
    shell::run(&mut command)
}

/// Tests that run at once: half as many again as there are cores, because many of them wait for servers, processes and browsers.
fn threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    cores + cores.div_ceil(2)
}
