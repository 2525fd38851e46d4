//! An import that is killed in the middle.

use crate::core::program::{Place, last_event};
use serde_json::json;
use std::fmt::Write;

/// Enough rows that the program is still at work when it has told of the first batches.
const ROWS: usize = 30_000;

/// Every so many rows one is bad.
const BAD_EVERY: usize = 1_000;

fn file() -> String {
    let mut text = "target\n".to_owned();
    for number in 0..ROWS {
        let scheme = if number % BAD_EVERY == 7 { "javascript" } else { "https" };
        writeln!(text, "{scheme}://example.com/{number}").unwrap();
    }
    text
}

/// Every row must be there once, in its order, and every bad line kept once, whenever the process dies.
#[tokio::test]
async fn a_killed_import_goes_on_where_it_was() {
    let place = Place::new();
    place.write("in.tsv", file());
    let path = place.path("in.tsv");
    let mut resumed_at = 0;
    for batches in [1, 3, 8] {
        let (mut child, mut out) = place.start(&["import", path.to_str().unwrap(), "--json"]);
        let started = out.event("start").unwrap();
        assert!(started["resumed_at_line"].as_u64().unwrap() >= resumed_at, "{started}");
        for _ in 0..batches {
            resumed_at = out.event("progress").unwrap()["line"].as_u64().unwrap();
        }
        child.kill().unwrap();
        assert!(resumed_at < ROWS as u64, "it was killed in the middle");
    }
    let last = place.run(&["import", path.to_str().unwrap(), "--json"]);
    assert_eq!(last.code, Some(1), "some lines are bad: {last:?}");
    let last = last.out;
    let started: serde_json::Value = serde_json::from_str(last.lines().next().unwrap()).unwrap();
    assert!(started["resumed_at_line"].as_u64().unwrap() >= resumed_at, "{started}");
    let bad = ROWS / BAD_EVERY;
    let expected = json!({"event": "done", "rows": ROWS, "created": ROWS - bad, "present": 0, "rejected": bad,
        "rejected_file": format!("{}.rejected", path.display())});
    assert_eq!(last_event(&last), expected);

    let kept = place.read("in.tsv.rejected");
    let lines: Vec<_> = kept.lines().filter(|line| line.starts_with("javascript")).collect();
    let expected: Vec<_> =
        (0..bad).map(|index| format!("javascript://example.com/{}", index * BAD_EVERY + 7)).collect();
    assert_eq!(lines, expected);
    place.succeed(&["export", "out.tsv"]);
    let out = place.read("out.tsv");
    let targets = out.lines().skip(1).map(|line| line.split('\t').nth(1).unwrap());
    let expected =
        (0..ROWS).filter(|number| number % BAD_EVERY != 7).map(|number| format!("https://example.com/{number}"));
    assert!(targets.eq(expected), "each once, in the order of the file");
    assert!(place.run(&["import", path.to_str().unwrap()]).out.starts_with(&format!("{ROWS} links: 0 new")));
}

/// Whoever mends the beginning of a file after a stopped import expects the mended lines to be read.
#[tokio::test]
async fn a_file_that_was_changed_is_read_from_the_beginning() {
    let place = Place::new();
    place.write("in.tsv", file());
    let path = place.path("in.tsv");
    let (mut child, mut out) = place.start(&["import", path.to_str().unwrap(), "--json"]);
    out.event("progress").unwrap();
    child.kill().unwrap();
    place.write("in.tsv", "target\nhttps://example.com/mended\nhttps://example.com/0\n");
    let ended = place.run(&["import", path.to_str().unwrap()]);
    assert!(ended.err.contains("the file was changed since an earlier import of it stopped"), "{ended:?}");
    assert_eq!(ended.out, "2 links: 1 new, 1 there already, 0 rejected\n");
    assert!(!place.path("in.tsv.rejected").exists());
}
