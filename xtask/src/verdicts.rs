//! `cargo xtask verdicts`: kills a process at each labeled point of a unit of work, on each database, and prints a table of what happened
//! to its effects. Each row is a test of the library, which `cargo xtask test` also runs.

use crate::setup;
use crate::shell;
use crate::test::{self, Park, Suite};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Stdio;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder of the unpacked servers (default: target/matrix); without them, the table has no column for MySQL
    #[arg(long, value_name = "DIR", env = "EVENKEEL_MATRIX")]
    matrix_dir: Option<PathBuf>,
}

/// A point at which the process is killed, the expected outcome, and the test that checks it.
struct Point {
    description: &'static str,
    verdict: &'static str,
    /// `{}` is the database.
    test: &'static str,
}

const NOTHING: &str = "nothing happened";
const EVERYTHING: &str = "all happened";

const POINTS: &[Point] = &[
    Point {
        description: "before the commit",
        verdict: NOTHING,
        test: "sql::work::killed::{}::kill_before_the_commit_has_no_effect",
    },
    Point {
        description: "before the commit, on a transaction of the caller's own",
        verdict: NOTHING,
        test: "sql::work::killed::{}::kill_before_the_commit_of_the_caller_has_no_effect",
    },
    Point {
        description: "between the commit and the fast path",
        verdict: EVERYTHING,
        test: "sql::work::killed::{}::kill_after_the_commit_loses_no_effect",
    },
    Point {
        description: "between the caller's own commit and the fast path",
        verdict: EVERYTHING,
        test: "sql::work::killed::{}::kill_after_the_commit_of_the_caller_loses_no_effect",
    },
    Point {
        description: "inside the fast path, after the invalidations",
        verdict: EVERYTHING,
        test: "sql::work::killed::{}::kill_during_the_fast_path_loses_no_effect",
    },
    Point {
        description: "after the fast path, before the row is marked",
        verdict: EVERYTHING,
        test: "sql::work::killed::{}::kill_after_the_fast_path_repeats_the_effects",
    },
    Point {
        description: "inside the relay, units of work claimed",
        verdict: EVERYTHING,
        test: "sql::relay::{}::killed::relay_killed_during_a_claim_loses_nothing",
    },
    Point {
        description: "inside the relay, keys claimed",
        verdict: EVERYTHING,
        test: "sql::relay::{}::killed::relay_killed_during_a_claim_of_keys_loses_nothing",
    },
    Point {
        description: "after carrying out, before the acknowledgement",
        verdict: EVERYTHING,
        test: "sql::relay::{}::killed::relay_killed_after_carrying_out_loses_nothing",
    },
    Point {
        description: "after publishing in order, before the acknowledgement",
        verdict: "all happened, nothing twice",
        test: "sql::relay::{}::killed::relay_killed_after_publishing_repeats_no_ordered_message",
    },
];

/// One database of the table.
struct Column {
    server: String,
    verdicts: Vec<bool>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    test::build()?;
    let suites = Suite::all()?;
    let park = Park::start(&[])?;
    let mut columns = Vec::new();
    for database in ["sqlite", "mariadb", "postgres"] {
        columns.push(Column::fill(database, &suites, &park)?);
    }
    drop(park);
    match test::mysql(&setup::matrix_folder(arguments.matrix_dir.clone())) {
        Ok(server) => columns.push(Column::fill("mariadb", &suites, &Park::start(&[server])?)?),
        Err(missing) => println!("MySQL skipped: {missing:#}"),
    }
    print!("{}", table(&columns));
    let wrong = columns.iter().flat_map(|column| &column.verdicts).filter(|holds| !**holds).count();
    if wrong > 0 {
        bail!("{wrong} outcomes violate the guarantees");
    }
    Ok(())
}

impl Column {
    fn fill(database: &str, suites: &[Suite], park: &Park) -> Result<Self> {
        let (_, output) = play(suites, &format!("sql::verdicts::{database}"), park)?;
        let rows = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let server = rows.filter_map(|row| Some(row["server"].as_str()?.to_owned())).next();
        let server = server.with_context(|| format!("{database} did not report its version"))?;
        let mut verdicts = Vec::new();
        for point in POINTS {
            let (holds, _) = play(suites, &point.test.replace("{}", database), park)?;
            println!("{server}, killed {}: {}", point.description, if holds { point.verdict } else { "FAILED" });
            verdicts.push(holds);
        }
        Ok(Self { server, verdicts })
    }
}

/// Runs the test. Returns whether it passed, and its output.
fn play(suites: &[Suite], test: &str, park: &Park) -> Result<(bool, String)> {
    let with = suites.iter().find(|suite| suite.tests().any(|name| name == test));
    let mut command = with.with_context(|| format!("there is no test `{test}`"))?.command(test);
    command.envs(park.addresses()).stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("`{}` could not be started", shell::line(&command)))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        println!("{text}");
    }
    Ok((output.status.success(), text))
}

/// The table of docs/guarantees.md.
fn table(columns: &[Column]) -> String {
    let servers: Vec<&str> = columns.iter().map(|column| column.server.as_str()).collect();
    let mut text = format!("\n| killed | {} |\n|---|{}\n", servers.join(" | "), "---|".repeat(columns.len()));
    for (row, point) in POINTS.iter().enumerate() {
        let verdict = |column: &Column| if column.verdicts[row] { point.verdict } else { "**FAILED**" };
        let verdicts: Vec<&str> = columns.iter().map(verdict).collect();
        text.push_str(&format!("| {} | {} |\n", point.description, verdicts.join(" | ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_verdict_is_marked_in_the_table() {
        let mut verdicts = vec![true; POINTS.len()];
        verdicts[1] = false;
        let columns = [Column { server: "SQLite 3.51".to_owned(), verdicts }];
        let table = table(&columns);
        assert!(
            table.starts_with("\n| killed | SQLite 3.51 |\n|---|---|\n| before the commit | nothing happened |\n"),
            "{table}"
        );
        assert_eq!(table.matches("FAILED").count(), 1, "{table}");
    }
}
