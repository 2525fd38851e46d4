//! `evenkeel token new` by several operators.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

const OPERATORS: usize = 24;

/// Regression: each process replaced the file that it had read, without the tokens of the others, and ended with 0.
// shows: hazard T2
#[test]
fn tokens_that_processes_make_at_once_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    let start = |number: usize| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args(["token", "new", &format!("operator-{number}"), "--tokens"]).arg(&file);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let processes: Vec<_> = (0..OPERATORS).map(start).collect();
    let mut printed = BTreeSet::new();
    for process in processes {
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        printed.insert(String::from_utf8(output.stdout).unwrap());
    }
    assert_eq!(printed.len(), OPERATORS);
    let text = std::fs::read_to_string(&file).unwrap();
    let names = text.lines().filter(|line| line.starts_with("name = \"operator-"));
    assert_eq!(names.collect::<BTreeSet<_>>().len(), OPERATORS, "{text}");
    assert_eq!(text.matches("key = ").count(), 1, "{text}");
    let names = |folder: &Path| {
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<BTreeSet<_>>()
    };
    assert_eq!(names(folder.path()), ["tokens", "tokens.lock"].map(str::to_owned).into(), "no file is left over");
}
