//! [`Report`]: what an import tells while it runs, to a person or to a program.

use super::progress::Counts;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// How many bad lines a person is shown; the rest is only counted (all of them are in the file).
const SHOWN_MAX: u64 = 20;

/// What an import tells while it runs.
pub enum Report {
    /// A bar and sentences on standard error; the result on standard output.
    Person {
        /// The bar; hidden where standard error is no terminal.
        bar: ProgressBar,
        /// Bad lines shown so far.
        shown: u64,
    },
    /// One JSON object a line on standard output: `start`, `note`, `rejected`, `progress`, `done`.
    Program,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event<'a> {
    Start { file: &'a Path, bytes: u64, resumed_at_line: u64 },
    Note { text: &'a str },
    Rejected { line: u64, reason: &'a str },
    Progress { line: u64, bytes: u64, created: u64, present: u64, rejected: u64 },
    Done { rows: u64, created: u64, present: u64, rejected: u64, rejected_file: Option<&'a Path> },
}

impl Report {
    /// For a person.
    #[must_use]
    pub fn person() -> Self {
        let bar = ProgressBar::no_length();
        let style = "{bar:30} {bytes}/{total_bytes}, {msg} ({eta} left)";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        Self::Person { bar, shown: 0 }
    }

    pub(super) fn start(&mut self, file: &Path, bytes: u64, resumed_at_line: u64) {
        match self {
            Self::Person { bar, .. } => {
                bar.set_length(bytes);
                if resumed_at_line > 0 {
                    bar.suspend(|| eprintln!("going on after line {resumed_at_line}, where an earlier import stopped"));
                }
            }
            Self::Program => tell(&Event::Start { file, bytes, resumed_at_line }),
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        match self {
            Self::Person { bar, .. } => bar.suspend(|| eprintln!("note: {}", printable(text))),
            Self::Program => tell(&Event::Note { text }),
        }
    }

    pub(super) fn rejected(&mut self, line: u64, reason: &str) {
        match self {
            Self::Person { bar, shown } => {
                *shown += 1;
                if *shown <= SHOWN_MAX {
                    bar.suspend(|| eprintln!("line {line}: {}", printable(reason)));
                } else if *shown == SHOWN_MAX + 1 {
                    bar.suspend(|| eprintln!("more bad lines follow; they are kept with their reasons"));
                }
            }
            Self::Program => tell(&Event::Rejected { line, reason }),
        }
    }

    pub(super) fn progress(&mut self, line: u64, bytes: u64, counts: &Counts) {
        match self {
            Self::Person { bar, .. } => {
                bar.set_position(bytes);
                bar.set_message(links(counts.rows()));
            }
            Self::Program => {
                let Counts { created, present, rejected } = *counts;
                tell(&Event::Progress { line, bytes, created, present, rejected });
            }
        }
    }

    pub(super) fn done(&mut self, counts: &Counts, rejected_file: Option<&Path>) {
        let Counts { created, present, rejected } = *counts;
        match self {
            Self::Person { bar, .. } => {
                bar.finish_and_clear();
                let kept = rejected_file.map(|file| format!(", kept in {}", file.display())).unwrap_or_default();
                let all = links(counts.rows());
                say(&format!("{all}: {created} new, {present} there already, {rejected} rejected{kept}"));
                if let Some(file) = rejected_file {
                    let file = file.display();
                    eprintln!("shortlink: not all rows were taken: mend the lines in {file} and import that file");
                }
            }
            Self::Program => tell(&Event::Done { rows: counts.rows(), created, present, rejected, rejected_file }),
        }
    }
}

/// How many, in words.
pub(crate) fn links(count: u64) -> String {
    if count == 1 { "1 link".to_owned() } else { format!("{count} links") }
}

/// What came out of a file, as a terminal may have it: control characters could move the cursor, or worse.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}

fn tell(event: &Event<'_>) {
    if let Ok(line) = serde_json::to_string(event) {
        say(&line);
    }
}

/// Flushed line by line, for whoever waits for a line. If nobody reads, the import goes on.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
