//! Imports that are killed.

use crate::core::program::{Workdir, last_event};
use serde_json::json;
use std::fmt::Write;

/// Enough rows that the import is still running after its first batches.
const ROWS: usize = 30_000;

/// One row in this many is invalid.
const BAD_EVERY: usize = 1_000;

fn file() -> String {
    let mut text = "target\n".to_owned();
    for number in 0..ROWS {
        let scheme = if number % BAD_EVERY == 7 { "javascript" } else { "https" };
        writeln!(text, "{scheme}://example.com/{number}").unwrap();
    }
    text
}

/// Every row must be imported once, in order, and every rejected line copied once, whenever the process is killed.
// shows: hazard S29
#[tokio::test]
async fn killed_import_resumes_after_last_batch() {
    let dir = Workdir::new();
    dir.write("in.tsv", file());
    let path = dir.path("in.tsv");
    let mut resumed_at = 0;
    for batches in [1, 3, 8] {
        let (mut child, mut out) = dir.start(&["import", path.to_str().unwrap(), "--json"]);
        let started = out.event("start").unwrap();
        assert!(started["resumed_at_line"].as_u64().unwrap() >= resumed_at, "{started}");
        for _ in 0..batches {
            resumed_at = out.event("progress").unwrap()["line"].as_u64().unwrap();
        }
        child.kill().unwrap();
        assert!(resumed_at < ROWS as u64, "it was killed in the middle");
    }
    let last = dir.run(&["import", path.to_str().unwrap(), "--json"]);
    assert_eq!(last.code, Some(1), "some lines are bad: {last:?}");
    let last = last.out;
    let started: serde_json::Value = serde_json::from_str(last.lines().next().unwrap()).unwrap();
    assert!(started["resumed_at_line"].as_u64().unwrap() >= resumed_at, "{started}");
    let bad = ROWS / BAD_EVERY;
    // The counts are those of this run: of the rows after the header line and those before.
    let before = usize::try_from(started["resumed_at_line"].as_u64().unwrap()).unwrap() - 1;
    let (rows, rejected) = (ROWS - before, bad - (before + BAD_EVERY - 8) / BAD_EVERY);
    let expected = json!({"event": "done", "rows": rows, "created": rows - rejected, "present": 0, "rejected": rejected,
        "rows_before": before, "rejected_file": format!("{}.rejected", path.display())});
    assert_eq!(last_event(&last), expected);

    let kept = dir.read("in.tsv.rejected");
    let lines: Vec<_> = kept.lines().filter(|line| line.starts_with("javascript")).collect();
    let expected: Vec<_> =
        (0..bad).map(|index| format!("javascript://example.com/{}", index * BAD_EVERY + 7)).collect();
    assert_eq!(lines, expected);
    dir.succeed(&["export", "out.tsv"]);
    let out = dir.read("out.tsv");
    let targets = out.lines().skip(1).map(|line| line.split('\t').nth(1).unwrap());
    let expected =
        (0..ROWS).filter(|number| number % BAD_EVERY != 7).map(|number| format!("https://example.com/{number}"));
    assert!(targets.eq(expected), "each once, in the order of the file");
    assert!(dir.run(&["import", path.to_str().unwrap()]).out.starts_with(&format!("{ROWS} links: 0 new")));
}

/// If the beginning of the file was corrected after an interrupted import, the corrected lines must be read.
#[tokio::test]
async fn changed_file_is_imported_from_the_beginning() {
    let dir = Workdir::new();
    dir.write("in.tsv", file());
    let path = dir.path("in.tsv");
    let (mut child, mut out) = dir.start(&["import", path.to_str().unwrap(), "--json"]);
    out.event("progress").unwrap();
    child.kill().unwrap();
    dir.write("in.tsv", "target\nhttps://example.com/mended\nhttps://example.com/0\n");
    let ended = dir.run(&["import", path.to_str().unwrap()]);
    assert!(ended.err.contains("the file has changed since an earlier import of it stopped"), "{ended:?}");
    assert_eq!(ended.out, "2 links: 1 new, 1 already present, 0 rejected\n");
    assert!(!dir.path("in.tsv.rejected").exists());
}
