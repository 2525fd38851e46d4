//! Files with quoting, damage, and long lines.

use super::{LINE_BYTES_MAX, Position, Record, Records};
use crate::transfer::Format;

/// All records of a file: line number, and code, target and alias (or the reason).
fn rows(format: Format, columns: Option<&str>, text: &[u8]) -> Vec<(u64, String)> {
    let columns: Option<Vec<String>> = columns.map(|names| names.split(',').map(str::to_owned).collect());
    let mut records = Records::new(text, format, columns.as_deref(), "file").unwrap();
    let mut rows = Vec::new();
    while let Some(record) = records.next_record().unwrap() {
        let row = match record.row {
            Ok(row) => format!("{:?} {} {}", row.code.unwrap_or_default(), row.target, row.alias),
            Err(why) => why,
        };
        rows.push((record.line, row));
    }
    assert_eq!(records.position().offset, text.len() as u64, "everything was read");
    rows
}

fn check(format: Format, columns: Option<&str>, text: &str, expected: &[(u64, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(line, row)| (*line, (*row).to_owned())).collect();
    assert_eq!(rows(format, columns, text.as_bytes()), expected, "{text:?}");
}

#[test]
fn tsv_rows_are_parsed_and_bad_lines_reported() {
    let text = "# from a log\ncited\ttarget\tcode\n710\thttp://a/#x\tone\n\n3\thttp://b/\n#1\thttp://no/\n\thttp://c/\t\n1\t\tx\n1\t2\t3\t4\n";
    check(
        Format::Tsv,
        None,
        text,
        &[
            (3, "\"one\" http://a/#x true"),
            (5, "\"\" http://b/ false"),
            (7, "\"\" http://c/ false"),
            (8, "no target"),
            (9, "4 fields, but 3 columns"),
        ],
    );
    check(
        Format::Tsv,
        Some("target,,code"),
        "http://a/\tignored\tone\r\nhttp://b/\"x\"",
        &[(1, "\"one\" http://a/ true"), (2, "\"\" http://b/\"x\" false")],
    );
}

#[test]
fn csv_rows_are_parsed_and_bad_lines_reported() {
    let text =
        "\u{feff}\"target\",note\n\"http://a/?x=1,2\",\"two\nlines\"\nhttp://b/,\"x\"y\n\"http://c/,3\nhttp://d/,4\n";
    check(
        Format::Csv,
        None,
        text,
        &[
            (2, "\"\" http://a/?x=1,2 false"),
            (4, "a closing quote is not followed by a separator"),
            (5, "a quote is not closed"),
            (6, "\"\" http://d/ false"),
        ],
    );
}

#[test]
fn json_rows_are_parsed_and_bad_lines_reported() {
    let text = r#"{"target": "http://a/", "title": "x"}
# a comment
{"target": "http://b/", "code": "b", "alias": false, "version": 7, "expires_at": null}
{"target": "http://c/", "alias": "see"}
{"target": "http://d/", "alias": null, "code": "d"}
{"target": 5}
[1]
{"target": "http://e/"
{"code": "e"}
{"target": "http://f/", "alias": true}
{"target": "http://g/", "code": "g", "alias": "h"}
{"target": "http://h/", "expires_at": "tomorrow"}
"#;
    check(
        Format::JsonLines,
        None,
        text,
        &[
            (1, "\"\" http://a/ false"),
            (3, "\"b\" http://b/ false"),
            (4, "\"see\" http://c/ true"),
            (5, "\"d\" http://d/ false"),
            (6, "target: 5 has the wrong type"),
            (7, "not a JSON object"),
            (8, "not a JSON object (error at character 22)"),
            (9, "no target"),
            (10, "alias is true, but there is no code"),
            (11, "code \"g\" and alias \"h\" differ"),
            (12, "expires_at: \"tomorrow\" is not an RFC 3339 timestamp such as 2030-01-01T00:00:00Z"),
        ],
    );
}

#[test]
fn unknown_fields_are_listed_once() {
    let mut records = Records::new(&b"cited\ttarget\n1\thttp://a/\n"[..], Format::Tsv, None, "file").unwrap();
    assert_eq!(records.unknown(), ["cited"]);
    assert!(records.next_record().unwrap().unwrap().row.is_ok());
    let text = b"{\"target\": \"http://a/\", \"x\": 1}\n{\"target\": \"http://b/\", \"x\": 2, \"y\": {}}\n";
    let mut records = Records::new(&text[..], Format::JsonLines, None, "file").unwrap();
    while records.next_record().unwrap().is_some() {}
    assert_eq!(records.unknown(), ["x", "y"]);
}

#[test]
fn invalid_utf8_rejects_one_line() {
    assert_eq!(
        rows(Format::Tsv, Some("target"), b"http://a/\xff\nhttp://b/\n"),
        [(1, "target: not valid UTF-8".to_owned()), (2, "\"\" http://b/ false".to_owned())]
    );
}

/// A missing quote or an endless line must cost one line and no memory.
#[test]
fn unclosed_quote_or_long_line_rejects_one_line() {
    let filler = "x".repeat(1000);
    let mut text = "target,note\nhttp://a/,\"open\n".to_owned();
    for number in 0..100 {
        text += &format!("http://b/{number},{filler}\n");
    }
    let rows = rows(Format::Csv, None, text.as_bytes());
    assert_eq!(rows.len(), 101);
    assert_eq!(rows[0], (2, "a quote is not closed".to_owned()));
    assert_eq!(rows[100], (102, "\"\" http://b/99 false".to_owned()));

    let text = format!("target\nhttp://a/{}\nhttp://b/\n", "x".repeat(2 * LINE_BYTES_MAX));
    check(Format::Tsv, None, &text, &[(2, "the line is longer than 65536 bytes"), (3, "\"\" http://b/ false")]);
}

#[test]
fn reading_resumes_at_position_of_unchanged_file() {
    let text = "target,note\nhttp://a/,1\nhttp://b/,\"two\nlines\"\nhttp://c/,3\n";
    let open = |text: &'static str| Records::new(text.as_bytes(), Format::Csv, None, "file").unwrap();
    let mut first = open(text);
    first.next_record().unwrap();
    first.next_record().unwrap();
    let position = first.position().clone();
    assert_eq!(position.line, 4);

    let mut second = open(text);
    assert!(second.skip_to(&position).unwrap());
    let record = second.next_record().unwrap().unwrap();
    assert_eq!((record.line, record.row.unwrap().target), (5, "http://c/".to_owned()));

    let mut longer = open("target,note\nhttp://a/,1\nhttp://b/,\"two\nlines\"\nhttp://c/,3\nhttp://d/,4\n");
    assert!(longer.skip_to(&position).unwrap(), "the file may change after the position");
    let mut changed = open("target,note\nhttp://A/,1\nhttp://b/,\"two\nlines\"\nhttp://c/,3\n");
    assert!(!changed.skip_to(&position).unwrap());
    let mut shorter = open("target,note\nhttp://a/,1\n");
    assert!(!shorter.skip_to(&position).unwrap());
}

/// All records of a file, with the position after each.
fn read(format: Format, columns: &[String], bytes: &[u8], from: Option<&Position>) -> Vec<(Position, Record)> {
    let mut records = Records::new(bytes, format, Some(columns), "file").unwrap();
    if let Some(position) = from {
        assert!(records.skip_to(position).unwrap(), "the position is valid in the same file");
    }
    let mut rows = Vec::new();
    while let Some(record) = records.next_record().unwrap() {
        rows.push((records.position().clone(), record));
    }
    rows
}

proptest::proptest! {
    /// For any bytes: no record is read twice or skipped, and reading can resume after any record.
    #[test]
    fn any_bytes_are_read_once_and_resume_after_any_record(
        text in "([a-z,\"#{}:\t\r]|\n|\"target\"|http://a/){0,60}",
        noise in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..20),
        format in proptest::sample::select(vec![Format::Tsv, Format::Csv, Format::JsonLines]),
    ) {
        let bytes = [text.as_bytes(), &noise].concat();
        let columns = ["target".to_owned(), "code".to_owned()];
        let columns = if format == Format::JsonLines { &columns[..0] } else { &columns[..] };
        let all = read(format, columns, &bytes, None);
        let mut end = 0;
        for (index, (position, record)) in all.iter().enumerate() {
            proptest::prop_assert!(record.span.0 >= end && record.span.1 == position.offset);
            end = record.span.1;
            let rest = read(format, columns, &bytes, Some(position));
            proptest::prop_assert_eq!(format!("{:?}", &all[index + 1..]), format!("{rest:?}"));
        }
    }
}
