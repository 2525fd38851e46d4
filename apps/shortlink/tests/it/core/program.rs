//! The program `shortlink`, run in a folder of its own.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Output};
use tempfile::TempDir;
use testkit::process::{Child, Launch};

/// The program under test.
pub(super) const SHORTLINK: &str = env!("CARGO_BIN_EXE_shortlink");

/// A temporary folder with the program's files, and the program run there.
pub(super) struct Workdir(TempDir);

/// How a run ended.
#[derive(Debug)]
pub(super) struct RunOutput {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Workdir {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs the program to its end.
    pub(super) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> RunOutput {
        ended(self.command(SHORTLINK).args(arguments).output().unwrap())
    }

    /// Runs the program with an environment to its end.
    pub(super) fn run_in<S: AsRef<OsStr>>(&self, environment: &[(&str, &str)], arguments: &[S]) -> RunOutput {
        ended(self.command(SHORTLINK).envs(environment.iter().copied()).args(arguments).output().unwrap())
    }

    /// Runs another program, whose arguments include the command line of this one.
    pub(super) fn run_through<S: AsRef<OsStr>>(&self, program: &str, arguments: &[S]) -> RunOutput {
        ended(self.command(program).args(arguments).output().unwrap())
    }

    /// Runs the program and expects success. Returns its standard output.
    pub(super) fn succeed(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        ended.out
    }

    /// Runs the program and expects an error at the start, in one sentence. Returns the sentence.
    pub(super) fn refuse(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{arguments:?}: {ended:?}");
        let [sentence] = ended.err.lines().collect::<Vec<_>>()[..] else { panic!("one sentence: {}", ended.err) };
        sentence.to_owned()
    }

    /// Starts the program and reads its first line.
    pub(super) fn start(&self, arguments: &[&str]) -> (Child, Out) {
        let launch = Launch::new(SHORTLINK, self.path("log")).piped();
        let launch = launch.argument("--data").argument(self.path("shortlink-data")).arguments(arguments);
        let mut child = launch.start().unwrap();
        let out = Out(BufReader::new(child.take_output().unwrap()));
        (child, out)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SHORTLINK_")) {
            command.env_remove(name);
        }
        command
    }
}

fn ended(output: Output) -> RunOutput {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    RunOutput { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// The standard output of a started program, line by line.
pub(super) struct Out(BufReader<ChildStdout>);

impl Out {
    /// The next line; `None` at the end.
    pub(super) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.0.read_line(&mut line).unwrap() > 0).then(|| line.trim_end().to_owned())
    }

    /// The next JSON line with this `event`.
    pub(super) fn event(&mut self, event: &str) -> Option<Value> {
        std::iter::from_fn(|| self.line()).map(|line| json(&line)).find(|reported| reported["event"] == event)
    }
}

pub(super) fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|why| panic!("{line:?}: {why}"))
}

/// The last of the JSON lines that a program printed.
pub(super) fn last_event(out: &str) -> Value {
    json(out.lines().last().unwrap())
}

/// The committed addresses.
pub(super) fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sample.tsv")
}
