//! The tests that have passed with their guards in place, and how long each took.

use crate::shell;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Passed {
    times: Mutex<BTreeMap<String, Duration>>,
}

impl Passed {
    /// The tests of the last run of nextest, which must have passed.
    pub(crate) fn in_last_run() -> Result<Self> {
        let report = shell::target()?.join("nextest/default/junit.xml");
        let report =
            std::fs::read_to_string(&report).with_context(|| format!("could not read {}", report.display()))?;
        Ok(Self { times: Mutex::new(times(&report)) })
    }

    pub(super) fn time_of(&self, test: &str) -> Option<Duration> {
        self.times.lock().ok()?.get(test).copied()
    }

    pub(super) fn add(&self, test: &str, took: Duration) {
        if let Ok(mut times) = self.times.lock() {
            times.insert(test.to_owned(), took);
        }
    }
}

/// The tests of a report, each with its time. Of two tests of one name, in two crates, the longer time counts.
fn times(report: &str) -> BTreeMap<String, Duration> {
    let mut times = BTreeMap::new();
    for case in report.split("<testcase ").skip(1) {
        let tag = case.split('>').next().unwrap_or_default();
        let of = |name: &str| tag.split(&format!("{name}=\"")).nth(1)?.split('"').next();
        let seconds =
            of(" time").and_then(|text| text.parse().ok()).and_then(|secs| Duration::try_from_secs_f64(secs).ok());
        if let (Some(test), Some(took)) = (of("name"), seconds) {
            let longest = times.entry(test.to_owned()).or_insert(took);
            *longest = took.max(*longest);
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_gives_the_time_of_each_test() {
        let report = r#"<testsuites name="nextest-run" time="9.000"><testsuite name="a::it" tests="2">
            <testcase name="one::works" classname="a::it" timestamp="2026-01-01T00:00:00.000Z" time="0.250"></testcase>
            <testcase name="two" classname="a::it" time="1.500"/></testsuite><testsuite name="b::it">
            <testcase name="two" classname="b::it" time="0.100"></testcase></testsuite></testsuites>"#;
        let expected =
            [("one::works", 250), ("two", 1_500)].map(|(name, ms)| (name.to_owned(), Duration::from_millis(ms)));
        assert_eq!(times(report), BTreeMap::from(expected));
    }
}
