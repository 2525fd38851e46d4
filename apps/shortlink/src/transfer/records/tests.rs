//! Files as people have them.

use super::{LINE_BYTES_MAX, Record, Records};
use crate::transfer::Format;
use crate::transfer::progress::Position;

/// All rows of a file: line number, and code, target and alias (or the reason).
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
fn tab_separated_values() {
    let text = "# from a log\ncited\ttarget\tcode\n710\thttp://a/#x\tone\n\n3\thttp://b/\n#1\thttp://no/\n\thttp://c/\t\n1\t\tx\n1\t2\t3\t4\n";
    check(
        Format::Tsv,
        None,
        text,
        &[
            (3, "\"one\" http://a/#x true"),
            (5, "\"\" http://b/ false"),
            (7, "\"\" http://c/ false"),
            (8, "it has no target"),
            (9, "it has 4 fields, there are 3 columns"),
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
fn comma_separated_values() {
    let text =
        "\u{feff}\"target\",note\n\"http://a/?x=1,2\",\"two\nlines\"\nhttp://b/,\"x\"y\n\"http://c/,3\nhttp://d/,4\n";
    check(
        Format::Csv,
        None,
        text,
        &[
            (2, "\"\" http://a/?x=1,2 false"),
            (4, "a closing quote is not followed by a comma"),
            (5, "a quote is opened and not closed"),
            (6, "\"\" http://d/ false"),
        ],
    );
}

#[test]
fn json_lines() {
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
            (7, "not a JSON object: invalid type: sequence, expected a map (at character 0)"),
            (8, "not a JSON object: EOF while parsing an object (at character 22)"),
            (9, "it has no target"),
            (10, "alias is true, but there is no code"),
            (11, "it has two codes, \"g\" and \"h\""),
            (12, "expires_at: \"tomorrow\" is no moment as RFC 3339 writes it, such as 2030-01-01T00:00:00Z"),
        ],
    );
}

#[test]
fn fields_that_mean_nothing_are_remembered_once() {
    let mut records = Records::new(&b"cited\ttarget\n1\thttp://a/\n"[..], Format::Tsv, None, "file").unwrap();
    assert_eq!(records.unknown(), ["cited"]);
    assert!(records.next_record().unwrap().unwrap().row.is_ok());
    let text = b"{\"target\": \"http://a/\", \"x\": 1}\n{\"target\": \"http://b/\", \"x\": 2, \"y\": {}}\n";
    let mut records = Records::new(&text[..], Format::JsonLines, None, "file").unwrap();
    while records.next_record().unwrap().is_some() {}
    assert_eq!(records.unknown(), ["x", "y"]);
}

#[test]
fn bytes_that_are_no_text_are_a_bad_line() {
    assert_eq!(
        rows(Format::Tsv, Some("target"), b"http://a/\xff\nhttp://b/\n"),
        [(1, "target: it is not UTF-8".to_owned()), (2, "\"\" http://b/ false".to_owned())]
    );
}

/// One forgotten quote, or one endless line, must cost one line and no memory.
#[test]
fn a_runaway_record_ends_at_its_line() {
    let filler = "x".repeat(1000);
    let mut text = "target,note\nhttp://a/,\"open\n".to_owned();
    for number in 0..100 {
        text += &format!("http://b/{number},{filler}\n");
    }
    let rows = rows(Format::Csv, None, text.as_bytes());
    assert_eq!(rows.len(), 101);
    assert_eq!(rows[0], (2, "a quote is opened and not closed".to_owned()));
    assert_eq!(rows[100], (102, "\"\" http://b/99 false".to_owned()));

    let text = format!("target\nhttp://a/{}\nhttp://b/\n", "x".repeat(2 * LINE_BYTES_MAX));
    check(Format::Tsv, None, &text, &[(2, "it is longer than 65536 bytes"), (3, "\"\" http://b/ false")]);
}

#[test]
fn reading_goes_on_where_it_was_if_the_file_is_the_same() {
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
    assert!(longer.skip_to(&position).unwrap(), "what is behind the position may change");
    let mut changed = open("target,note\nhttp://A/,1\nhttp://b/,\"two\nlines\"\nhttp://c/,3\n");
    assert!(!changed.skip_to(&position).unwrap());
    let mut shorter = open("target,note\nhttp://a/,1\n");
    assert!(!shorter.skip_to(&position).unwrap());
}

/// Everything a file says, as its reader tells it, and where the reader stood after each row.
fn told(format: Format, columns: &[String], bytes: &[u8], from: Option<&Position>) -> Vec<(Position, Record)> {
    let mut records = Records::new(bytes, format, Some(columns), "file").unwrap();
    if let Some(position) = from {
        assert!(records.skip_to(position).unwrap(), "a position of the same file is found again");
    }
    let mut rows = Vec::new();
    while let Some(record) = records.next_record().unwrap() {
        rows.push((records.position().clone(), record));
    }
    rows
}

proptest::proptest! {
    /// Whatever the bytes are: nothing is read twice or passed over, and reading can go on after any row as if it had not stopped.
    #[test]
    fn any_bytes_are_read_once_from_wherever_it_goes_on(
        text in "([a-z,\"#{}:\t\r]|\n|\"target\"|http://a/){0,60}",
        noise in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..20),
        format in proptest::sample::select(vec![Format::Tsv, Format::Csv, Format::JsonLines]),
    ) {
        let bytes = [text.as_bytes(), &noise].concat();
        let columns = ["target".to_owned(), "code".to_owned()];
        let columns = if format == Format::JsonLines { &columns[..0] } else { &columns[..] };
        let all = told(format, columns, &bytes, None);
        let mut end = 0;
        for (index, (position, record)) in all.iter().enumerate() {
            proptest::prop_assert!(record.span.0 >= end && record.span.1 == position.offset);
            end = record.span.1;
            let rest = told(format, columns, &bytes, Some(position));
            proptest::prop_assert_eq!(format!("{:?}", &all[index + 1..]), format!("{rest:?}"));
        }
    }
}
