//! Files that a user imports: TSV, CSV and JSON lines from anywhere.
#![expect(clippy::panic, reason = "a target panics if a promise is broken")]

use super::Target;
use shortlink::domain::TargetRules;
use shortlink::transfer::{Format, Position, Record, Records, TransferRow, header, line};
use std::io::BufReader;

pub(crate) const TARGET: Target = Target { name: "import_rows", valid, feed };

/// Small, so that lines and quotes are cut by the ends of buffers.
const BUFFER_BYTES: usize = 7;

type File<'i> = Records<BufReader<&'i [u8]>>;

fn feed(input: &[u8]) {
    let columns = ["target".to_owned(), String::new(), "code".to_owned()];
    for format in [Format::Tsv, Format::Csv, Format::JsonLines] {
        read(input, format, None);
        if format != Format::JsonLines {
            read(input, format, Some(&columns));
        }
    }
}

/// Reads all of `input`, unless its header cannot be used.
fn read(input: &[u8], format: Format, columns: Option<&[String]>) {
    let Ok(mut file) = open(input, format, columns) else { return };
    let mut records = Vec::new();
    let mut positions = vec![file.position().clone()];
    while let Some(record) = next(&mut file) {
        records.push(record);
        positions.push(file.position().clone());
    }
    in_order(&records, input);
    resumed(input, format, columns, &records, &positions);
    for row in records.iter().filter_map(|record| record.row.as_ref().ok()) {
        if row.check(&TargetRules::default(), None).is_ok() {
            written(row);
        }
    }
}

/// Every record is a part of the file of its own, and the parts follow each other.
fn in_order(records: &[Record], input: &[u8]) {
    let (mut end, mut line) = (0, 0);
    for record in records {
        assert!(record.line > line && record.span.0 >= end && record.span.1 > record.span.0, "{record:?}");
        (end, line) = (record.span.1, record.line);
    }
    assert!(end <= input.len() as u64, "a record ends at {end} of {}", input.len());
}

/// An import that stopped after any record goes on with the next one.
fn resumed(input: &[u8], format: Format, columns: Option<&[String]>, records: &[Record], positions: &[Position]) {
    let stopped = records.len() / 2;
    let Ok(mut file) = open(input, format, columns) else { return };
    assert!(file.skip_to(&positions[stopped]).is_ok_and(|same| same), "after {stopped} records it is another file");
    for record in &records[stopped..] {
        assert_eq!(next(&mut file).as_ref(), Some(record), "after {stopped} records");
    }
}

/// What an export writes of a row is read as the same row.
fn written(row: &TransferRow) {
    for format in [Format::Tsv, Format::Csv, Format::JsonLines] {
        let line = line(row, format).unwrap_or_default();
        let text = header(format).map_or_else(|| line.clone(), |header| format!("{header}\n{line}"));
        let mut file = open(text.as_bytes(), format, None).unwrap_or_else(|why| panic!("{text:?}: {why}"));
        let read = next(&mut file).map(|record| record.row);
        assert_eq!(read, Some(Ok(row.clone())), "{text:?}");
        assert_eq!(next(&mut file), None, "{text:?}");
    }
}

fn open<'i>(input: &'i [u8], format: Format, columns: Option<&[String]>) -> Result<File<'i>, String> {
    let input = BufReader::with_capacity(BUFFER_BYTES, input);
    Records::new(input, format, columns, "fuzzed").map_err(|why| why.to_string())
}

fn next(file: &mut File<'_>) -> Option<Record> {
    file.next_record().unwrap_or_else(|why| panic!("memory cannot fail: {why}"))
}

fn valid() -> Vec<Vec<u8>> {
    let texts = [
        "target\tcode\talias\tversion\nhttps://example.com/1\tone\ttrue\t7\n# told\n\nhttps://example.com/2\r\n",
        "code,target,expires_at\none,\"https://example.com/?a=1,2\",2030-01-01T00:00:00Z\n,\"https://x/\"\"q\"\"\"\n",
        "\u{feff}Target,note\n\"https://example.com/\",\"two\nlines\"\nhttps://example.com/3,\"open\n",
        "{\"target\": \"https://example.com/\", \"alias\": \"mine\", \"version\": 4503599627370496}\n",
        "{\"target\":\"https://例え.jp/#é\",\"code\":\"Ab_-9\",\"alias\":false,\"created_at\":\"1999-12-31T23:59:59.5+01:00\"}\n{}\n",
        "https://example.com/1\tleft out\tcode1\nhttps://example.com/2\n",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
