//! Redirects that follow real popularity: each address is asked for as often as it is cited, in an order drawn at random.

use super::BENCH;
use super::program::{Behind, SHORTLINK};
use super::redirects::{millis, once, redirects};
use crate::generator::Pace;
use crate::program::{Program, built};
use crate::rounds::{Plan, repeat};
use crate::row::Row;
use anyhow::{Context, Result, ensure};
use rand::SeedableRng;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::SmallRng;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;

/// Names another file of addresses with the columns `cited` and `target`; the committed sample is the default.
const FILE: &str = "EVENKEEL_BENCH_URLS";
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../apps/shortlink/data/sample.tsv");

/// Visits in one turn of the load.
const VISITS: usize = 100_000;

/// Room near for a part of the links only, so that the tiers share the work.
const NEAR_SHARE: usize = 4;

/// Imports the addresses, lets visitors follow them from a cold start, and returns what each tier served.
pub(crate) fn run(plan: &Plan) -> Result<Vec<Row>> {
    let file = std::env::var_os(FILE).map_or_else(|| PathBuf::from(SAMPLE), PathBuf::from);
    let addresses = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let cited = cited(&addresses)?;
    let behind = Behind::nothing();
    let service = behind.serve_with_room(cited.len() / NEAR_SHARE)?;
    let server = format!("http://{}", service.address);
    run_program(Command::new(built(SHORTLINK)?).args(["import", "--server", &server]).arg(&file))?;
    let exported = run_program(Command::new(built(SHORTLINK)?).args(["export", "-", "--server", &server]))?;
    let visits = visits(&cited, &exported)?;
    once(&service, &visits)?;
    let tiers = Tiers::of(&service)?;
    let (rate, spread) =
        repeat(plan, |span| Ok(redirects(&service, &visits, Pace::Closed { ms: millis(span) })?.rate()))?;
    let name = format!("{} addresses by citation counts, a quarter of them in the near cache", cited.len());
    let part = |row: &str, part: f64| {
        Row::alone(BENCH, format!("{name}: {row}, of the first {VISITS} visits"), "%", part * 100.0, None)
    };
    Ok(vec![
        Row::alone(BENCH, format!("redirects, {name}"), "redirects/s", rate, Some(spread)),
        part("served from the near cache", tiers.near / tiers.all()),
        part("served from the store", tiers.store / tiers.all()),
        part("served without a load", (tiers.near + tiers.store) / tiers.all()),
    ])
}

/// How often each target is cited.
fn cited(text: &str) -> Result<HashMap<&str, u32>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let column = |name| names.iter().position(|column| *column == name).with_context(|| format!("no column {name}"));
    let (count, target) = (column("cited")?, column("target")?);
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let (count, target) = (fields.get(count).context("too few fields")?, fields.get(target));
            Ok((*target.context("too few fields")?, count.parse()?))
        })
        .collect()
}

/// The codes of an export, each as likely as its target is cited.
fn visits(cited: &HashMap<&str, u32>, exported: &str) -> Result<Vec<String>> {
    let rows: Vec<(&str, u32)> = exported
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.split('\t');
            let (code, target) = (fields.next()?, fields.next()?);
            Some((code, *cited.get(target)?))
        })
        .collect();
    ensure!(rows.len() == cited.len(), "{} of {} addresses were imported", rows.len(), cited.len());
    let mut random = SmallRng::seed_from_u64(1);
    let weights = WeightedIndex::new(rows.iter().map(|(_, count)| *count))?;
    Ok((0..VISITS).map(|_| rows[weights.sample(&mut random)].0.to_owned()).collect())
}

/// How many reads each tier answered.
struct Tiers {
    near: f64,
    store: f64,
    loaded: f64,
}

impl Tiers {
    fn of(service: &Program) -> Result<Self> {
        let mut stream = TcpStream::connect(&service.address)?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let sum = |start: &str| -> f64 {
            text.lines()
                .filter(|line| line.starts_with(start))
                .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
                .sum()
        };
        let hits = |tier: &str| sum(&format!("evenkeel_cache_hits_total{{cache=\"link\",tier=\"{tier}\""));
        let tiers = Self {
            near: hits("near"),
            store: hits("store"),
            loaded: sum("evenkeel_cache_misses_total{cache=\"link\""),
        };
        ensure!(tiers.all() > 0.0, "the service counts no reads");
        Ok(tiers)
    }

    fn all(&self) -> f64 {
        self.near + self.store + self.loaded
    }
}

fn run_program(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::{VISITS, cited, visits};
    use anyhow::Result;

    #[test]
    fn what_is_cited_more_is_visited_more() -> Result<()> {
        let cited = cited("cited\ttarget\n9\thttps://a\n1\thttps://b\n")?;
        let visits = visits(&cited, "code\ttarget\none\thttps://a\ntwo\thttps://b\n")?;
        let first = visits.iter().filter(|code| *code == "one").count();
        assert!((VISITS * 85 / 100..VISITS * 95 / 100).contains(&first), "{first} of {VISITS}");
        Ok(())
    }
}
