//! `shortlink import` of a file into a fresh data folder.

use super::BENCH;
use super::program::{SHORTLINK, folder};
use crate::program::built;
use crate::rounds::{Plan, repeat};
use crate::row::Row;
use anyhow::{Result, ensure};
use std::fmt::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

const LINES: usize = 100_000;

pub(crate) fn run(plan: &Plan) -> Result<Row> {
    let place = folder();
    let file = place.path().join("links.tsv");
    let mut text = String::from("target\n");
    for line in 0..LINES {
        writeln!(text, "https://example.org/articles/{line}/of-a-usual-length?from=import")?;
    }
    std::fs::write(&file, text)?;
    let program = built(SHORTLINK)?;
    let (middle, spread) = repeat(&plan.shortened(), |_| {
        let data = folder();
        let start = Instant::now();
        let mut import = Command::new(&program);
        import.arg("import").arg(&file).arg("--data").arg(data.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = import.status()?;
        ensure!(status.success(), "`shortlink import` ended with {status}");
        Ok(LINES as f64 / start.elapsed().as_secs_f64())
    })?;
    Ok(Row::alone(BENCH, format!("lines imported into SQLite, file of {LINES}"), "lines/s", middle, Some(spread)))
}
