//! Import and export of real and unusual rows.

use crate::core::program::{Workdir, last_event, sample};
use serde_json::json;

/// The targets of a TSV file, in order.
fn targets(text: &str) -> Vec<&str> {
    let column = text.lines().next().unwrap().split('\t').position(|name| name == "target").unwrap();
    text.lines().skip(1).map(|line| line.split('\t').nth(column).unwrap()).collect()
}

#[test]
fn real_urls_round_trip_and_import_once() {
    let dir = Workdir::new();
    let file = sample();
    let file = file.to_str().unwrap();
    let first = dir.run(&["import", file]);
    assert_eq!(first.out, "2000 links: 2000 new, 0 already present, 0 rejected\n");
    assert!(first.err.contains("ignoring the unknown column \"cited\""), "{}", first.err);
    assert_eq!(dir.succeed(&["import", file]), "2000 links: 0 new, 2000 already present, 0 rejected\n");
    assert_eq!(dir.succeed(&["export", "out.tsv"]), "2000 links written to out.tsv\n");
    let (given, taken) = (std::fs::read_to_string(file).unwrap(), dir.read("out.tsv"));
    assert_eq!(targets(&given), targets(&taken));
}

// shows: hazard S29
#[test]
fn export_round_trips_in_every_format() {
    let dir = Workdir::new();
    dir.write("in.jsonl", concat!(
        "{\"target\": \"https://example.com/?a=1,2&b=\\\"x\\\"\", \"alias\": \"quoted\"}\n",
        "{\"target\": \"https://例え.jp/パス#é\", \"expires_at\": \"2020-01-01T00:00:00.001Z\"}\n",
        "{\"target\": \"HTTP://EXAMPLE.com:80/%7e/../x\", \"code\": \"Ab_-9\", \"alias\": false, \"version\": 4503599627370496}\n",
        "{\"target\": \"https://example.com/\", \"code\": \"true\", \"created_at\": \"1999-12-31T23:59:59Z\", \"clicks\": \"1999-12-31:3/1\"}\n",
    ));
    dir.succeed(&["import", "in.jsonl"]);
    for name in ["a.tsv", "a.csv", "a.jsonl"] {
        dir.succeed(&["export", name]);
        let other = format!("data-{}", &name[2..]);
        let taken = dir.succeed(&["import", name, "--data", &other]);
        assert_eq!(taken, "4 links: 4 new, 0 already present, 0 rejected\n", "{name}");
        let again = format!("b.{}", &name[2..]);
        dir.succeed(&["export", &again, "--data", &other]);
        assert_eq!(dir.read(name), dir.read(&again), "{name}");
    }
    // Regression: the counters of clicks were lost. Those of long ago count as clicks of the first day that an export has.
    assert!(dir.read("a.tsv").lines().last().unwrap().ends_with(":3/1"), "{}", dir.read("a.tsv"));
    assert_eq!(dir.succeed(&["export", "-"]), dir.read("a.tsv"));
    assert_eq!(dir.succeed(&["export", "-", "--format", "jsonl"]), dir.read("a.jsonl"));
}

#[test]
fn rejected_lines_are_reported_by_number_and_copied() {
    let dir = Workdir::new();
    let bad = [
        "javascript:alert(1)\t",
        "https://example.com/a b\t",
        "https://example.com/reserved\tAPI",
        "https://example.com/character\ta+b",
        "https://example.com/elsewhere\tgood",
        "https://example.com/fields\tx\ty",
    ];
    dir.write(
        "in.tsv",
        format!("target\tcode\nhttps://example.com/\tgood\n{}\nhttps://example.com/last", bad.join("\n")),
    );
    let ended = dir.run(&["import", "in.tsv", "--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let rejected: Vec<_> = ended.out.lines().filter(|line| line.contains("\"event\":\"rejected\"")).collect();
    assert_eq!(rejected.len(), 6, "{}", ended.out);
    let expected = json!({"event": "done", "rows": 8, "created": 2, "present": 0, "rejected": 6, "rows_before": 0, "rejected_file": "in.tsv.rejected"});
    assert_eq!(last_event(&ended.out), expected);
    insta::assert_snapshot!(dir.read("in.tsv.rejected"));

    // The corrected file of rejected lines can be imported, comments included.
    let mended = dir.read("in.tsv.rejected").replace("javascript:alert(1)", "https://example.com/mended");
    dir.write("in.tsv.rejected", mended);
    let again = dir.run(&["import", "in.tsv.rejected"]);
    assert_eq!(again.out, "6 links: 1 new, 0 already present, 5 rejected, copied to in.tsv.rejected.rejected\n");
    assert_eq!(again.code, Some(1));
    let reported = "shortlink: some lines were rejected: correct them in in.tsv.rejected.rejected and import that file";
    assert_eq!(again.err.lines().last().unwrap(), reported);
    // A run without rejected lines removes the file of an earlier run.
    dir.write("in.tsv", "target\tcode\nhttps://example.com/\tgood\n");
    assert_eq!(dir.succeed(&["import", "in.tsv"]), "1 link: 0 new, 1 already present, 0 rejected\n");
    assert!(!dir.path("in.tsv.rejected").exists());
}

#[test]
fn file_without_header_needs_column_names() {
    let dir = Workdir::new();
    dir.write("in.csv", "5,https://example.com/1,one\n6,https://example.com/2,\n");
    let why = dir.refuse(&["import", "in.csv"]);
    assert_eq!(
        why,
        "shortlink: in.csv, line 1: no column \"target\" (found: 5, https://example.com/1, one); \
        name the columns with --columns"
    );
    let taken = dir.succeed(&["import", "in.csv", "--columns", ",target,alias"]);
    assert_eq!(taken, "2 links: 2 new, 0 already present, 0 rejected\n");
    let out = dir.succeed(&["export", "-", "--format", "csv"]);
    assert!(out.lines().nth(1).unwrap().starts_with("one,https://example.com/1,true,"), "{out}");
}

#[test]
fn import_errors_are_one_sentence() {
    let dir = Workdir::new();
    for (name, text, why) in [
        ("empty.tsv", "", "empty.tsv is empty: it has no header line"),
        ("none.tsv", "# nothing\n\n", "none.tsv is empty: it has no header line"),
        ("twice.csv", "target,Target\n", "twice.csv, line 1: duplicate column \"Target\""),
        ("a.txt", "target\n", "a.txt does not end in .tsv, .csv, .jsonl or .ndjson: name its format with --format"),
    ] {
        dir.write(name, text);
        assert_eq!(dir.refuse(&["import", name]), format!("shortlink: {why}"));
    }
    assert!(dir.refuse(&["import", "gone.tsv"]).starts_with("shortlink: cannot read gone.tsv: "));
    dir.write("a.jsonl", "");
    assert!(dir.refuse(&["import", "a.jsonl", "--columns", "target"]).contains("--columns applies to .tsv and .csv"));
    assert!(dir.refuse(&["import", "a.jsonl", "--server", "nonsense"]).contains("--server needs a URL such as"));
    assert!(
        dir.refuse(&["export", "x.tsv", "--data", "nowhere"])
            .contains("the database sqlite:nowhere/links.db does not exist")
    );
    assert!(dir.succeed(&["import", "a.jsonl"]).starts_with("0 links"));
    assert!(dir.refuse(&["export", "no/such/folder.tsv"]).starts_with("shortlink: cannot write no/such/folder.tsv"));
}
