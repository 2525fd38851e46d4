//! The steps of one task: announced with the time that each took last, run with their number, and summed up at the end.

use crate::shell::{seconds, target};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What each step took where the results of a release are recorded, for a machine that has not run the task yet.
const RECORDED: &str = include_str!("steps.toml");

pub(crate) struct Steps {
    task: &'static str,
    /// How many were announced.
    planned: usize,
    done: Vec<(String, Duration)>,
}

/// The last known duration of each step of one task, in seconds.
struct Last {
    on: String,
    steps: BTreeMap<String, u64>,
}

impl Steps {
    /// Prints the names of the steps with the time that each took last. `plan` is empty if they are not known before they run.
    pub(crate) fn new(task: &'static str, plan: &[&str]) -> Self {
        if !plan.is_empty() {
            let last = Last::of(task);
            let total: u64 = plan.iter().filter_map(|name| last.steps.get(*name)).sum();
            println!("cargo xtask {task}: {} steps, {} last time ({})", plan.len(), minutes(total), last.on);
            for name in plan {
                let took = last.steps.get(*name).map_or_else(|| "?".to_owned(), |secs| minutes(*secs));
                println!("  {took:>8}  {name}");
            }
        }
        Self { task, planned: plan.len(), done: Vec::new() }
    }

    /// Runs one step; its error names the step.
    pub(crate) fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        match self.planned {
            0 => println!("\n== {name}"),
            planned => println!("\n== {name} (step {} of {planned})", self.done.len() + 1),
        }
        let start = Instant::now();
        let result = work().with_context(|| format!("cargo xtask {}: the step `{name}` failed", self.task))?;
        let took = start.elapsed();
        println!("== {name}: {}", seconds(took));
        self.done.push((name.to_owned(), took));
        Ok(result)
    }

    /// Prints the steps with their durations. If all that were announced have run, the next run announces these durations.
    pub(crate) fn finish(self) {
        println!("\ncargo xtask {}: all {} steps passed", self.task, self.done.len());
        for (name, took) in &self.done {
            println!("  {:>8}  {name}", seconds(*took));
        }
        let total = self.done.iter().map(|(_, took)| *took).sum();
        println!("  {:>8}  in total", seconds(total));
        if self.planned == self.done.len()
            && let Err(error) = self.remember()
        {
            println!("the durations could not be kept for the next run: {error:#}");
        }
    }

    fn remember(&self) -> Result<()> {
        let file = local(self.task)?;
        std::fs::create_dir_all(file.parent().context("the file is in a folder")?)?;
        let lines = self.done.iter().map(|(name, took)| format!("\"{name}\" = {}\n", took.as_secs()));
        std::fs::write(&file, lines.collect::<String>()).with_context(|| file.display().to_string())
    }
}

impl Last {
    fn of(task: &str) -> Self {
        let here = local(task).ok().and_then(|file| std::fs::read_to_string(file).ok());
        if let Some(steps) = here.and_then(|text| toml::from_str(&text).ok()) {
            return Self { on: "on this machine".to_owned(), steps };
        }
        Self::recorded(task).unwrap_or_else(|| Self { on: "not recorded".to_owned(), steps: BTreeMap::new() })
    }

    fn recorded(task: &str) -> Option<Self> {
        let recorded: toml::Table = RECORDED.parse().ok()?;
        let on = recorded.get("on")?.as_str()?.to_owned();
        Some(Self { on, steps: recorded.get(task)?.clone().try_into().ok()? })
    }
}

/// Where the durations of the last run on this machine are.
fn local(task: &str) -> Result<PathBuf> {
    Ok(target()?.join("xtask").join(format!("{task}.toml")))
}

fn minutes(secs: u64) -> String {
    if secs < 60 { format!("{secs} s") } else { format!("{} min", secs.div_ceil(60)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_durations_are_read_for_both_tasks() {
        for task in ["check", "test"] {
            let last = Last::recorded(task).map(|last| (last.on.contains("cores"), last.steps.len() > 3));
            assert_eq!(last, Some((true, true)), "{task}");
        }
    }

    #[test]
    fn durations_are_rounded_up_to_minutes() {
        assert_eq!([5, 60, 61].map(minutes), ["5 s", "1 min", "2 min"]);
    }
}
