//! What import and export do with rows, on real addresses and on odd ones.

use crate::core::program::{Place, last_event, sample};
use serde_json::json;

/// The targets of a TSV file, in order.
fn targets(text: &str) -> Vec<&str> {
    let column = text.lines().next().unwrap().split('\t').position(|name| name == "target").unwrap();
    text.lines().skip(1).map(|line| line.split('\t').nth(column).unwrap()).collect()
}

#[test]
fn real_addresses_come_back_byte_for_byte_and_only_once() {
    let place = Place::new();
    let file = sample();
    let file = file.to_str().unwrap();
    let first = place.run(&["import", file]);
    assert_eq!(first.out, "2000 links: 2000 new, 0 there already, 0 rejected\n");
    assert!(first.err.contains("the column \"cited\" is left out"), "{}", first.err);
    assert_eq!(place.succeed(&["import", file]), "2000 links: 0 new, 2000 there already, 0 rejected\n");
    assert_eq!(place.succeed(&["export", "out.tsv"]), "2000 links written to out.tsv\n");
    let (given, taken) = (std::fs::read_to_string(file).unwrap(), place.read("out.tsv"));
    assert_eq!(targets(&given), targets(&taken));
}

#[test]
fn an_export_is_an_import_that_changes_nothing() {
    let place = Place::new();
    place.write("in.jsonl", concat!(
        "{\"target\": \"https://example.com/?a=1,2&b=\\\"x\\\"\", \"alias\": \"quoted\"}\n",
        "{\"target\": \"https://例え.jp/パス#é\", \"expires_at\": \"2020-01-01T00:00:00.001Z\"}\n",
        "{\"target\": \"HTTP://EXAMPLE.com:80/%7e/../x\", \"code\": \"Ab_-9\", \"alias\": false, \"version\": 4503599627370496}\n",
        "{\"target\": \"https://example.com/\", \"code\": \"true\", \"created_at\": \"1999-12-31T23:59:59Z\"}\n",
    ));
    place.succeed(&["import", "in.jsonl"]);
    for name in ["a.tsv", "a.csv", "a.jsonl"] {
        place.succeed(&["export", name]);
        let other = format!("data-{}", &name[2..]);
        let taken = place.succeed(&["import", name, "--data", &other]);
        assert_eq!(taken, "4 links: 4 new, 0 there already, 0 rejected\n", "{name}");
        let again = format!("b.{}", &name[2..]);
        place.succeed(&["export", &again, "--data", &other]);
        assert_eq!(place.read(name), place.read(&again), "{name}");
    }
    assert_eq!(place.succeed(&["export", "-"]), place.read("a.tsv"));
    assert_eq!(place.succeed(&["export", "-", "--format", "jsonl"]), place.read("a.jsonl"));
}

#[test]
fn bad_lines_are_reported_by_number_and_kept() {
    let place = Place::new();
    let bad = [
        "javascript:alert(1)\t",
        "https://example.com/a b\t",
        "https://example.com/reserved\tAPI",
        "https://example.com/character\ta+b",
        "https://example.com/elsewhere\tgood",
        "https://example.com/fields\tx\ty",
    ];
    place.write(
        "in.tsv",
        format!("target\tcode\nhttps://example.com/\tgood\n{}\nhttps://example.com/last", bad.join("\n")),
    );
    let ended = place.run(&["import", "in.tsv", "--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let rejected: Vec<_> = ended.out.lines().filter(|line| line.contains("\"event\":\"rejected\"")).collect();
    assert_eq!(rejected.len(), 6, "{}", ended.out);
    let expected = json!({"event": "done", "rows": 8, "created": 2, "present": 0, "rejected": 6, "rejected_file": "in.tsv.rejected"});
    assert_eq!(last_event(&ended.out), expected);
    insta::assert_snapshot!(place.read("in.tsv.rejected"));

    // Mended, the kept lines are taken; the comments with the reasons do no harm.
    let mended = place.read("in.tsv.rejected").replace("javascript:alert(1)", "https://example.com/mended");
    place.write("in.tsv.rejected", mended);
    let again = place.run(&["import", "in.tsv.rejected"]);
    assert_eq!(again.out, "6 links: 1 new, 0 there already, 5 rejected, kept in in.tsv.rejected.rejected\n");
    assert_eq!(again.code, Some(1));
    let told = "shortlink: not all rows were taken: mend the lines in in.tsv.rejected.rejected and import that file";
    assert_eq!(again.err.lines().last().unwrap(), told);
    // A run without bad lines leaves none behind.
    place.write("in.tsv", "target\tcode\nhttps://example.com/\tgood\n");
    assert_eq!(place.succeed(&["import", "in.tsv"]), "1 link: 0 new, 1 there already, 0 rejected\n");
    assert!(!place.path("in.tsv.rejected").exists());
}

#[test]
fn a_file_without_header_needs_names() {
    let place = Place::new();
    place.write("in.csv", "5,https://example.com/1,one\n6,https://example.com/2,\n");
    let why = place.refuse(&["import", "in.csv"]);
    assert_eq!(
        why,
        "shortlink: in.csv, line 1: no column is called \"target\" (they are: 5, https://example.com/1, one); \
        name the columns with --columns"
    );
    let taken = place.succeed(&["import", "in.csv", "--columns", ",target,alias"]);
    assert_eq!(taken, "2 links: 2 new, 0 there already, 0 rejected\n");
    let out = place.succeed(&["export", "-", "--format", "csv"]);
    assert!(out.lines().nth(1).unwrap().starts_with("one,https://example.com/1,true,"), "{out}");
}

#[test]
fn what_cannot_be_imported_is_one_sentence() {
    let place = Place::new();
    for (name, text, why) in [
        ("empty.tsv", "", "empty.tsv is empty: it has no header line"),
        ("none.tsv", "# nothing\n\n", "none.tsv is empty: it has no header line"),
        ("twice.csv", "target,Target\n", "twice.csv, line 1: the column \"Target\" is named twice"),
        ("a.txt", "target\n", "a.txt ends in none of .tsv, .csv, .jsonl and .ndjson; say what it is with --format"),
    ] {
        place.write(name, text);
        assert_eq!(place.refuse(&["import", name]), format!("shortlink: {why}"));
    }
    assert!(place.refuse(&["import", "gone.tsv"]).starts_with("shortlink: cannot read gone.tsv: "));
    place.write("a.jsonl", "");
    assert!(place.refuse(&["import", "a.jsonl", "--columns", "target"]).contains("--columns is for .tsv and .csv"));
    assert!(place.refuse(&["import", "a.jsonl", "--server", "nonsense"]).contains("--server takes an address like"));
    assert!(
        place
            .refuse(&["export", "x.tsv", "--data", "nowhere"])
            .contains("there is no database sqlite:nowhere/links.db")
    );
    assert!(place.succeed(&["import", "a.jsonl"]).starts_with("0 links"));
    assert!(place.refuse(&["export", "no/such/folder.tsv"]).starts_with("shortlink: cannot write no/such/folder.tsv"));
}
