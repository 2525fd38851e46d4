//! CSV records (RFC 4180).
//!
//! The crate `csv` cannot replace this: it accepts text after a closing quote (`"x"y`), where an import must reject the line, and it
//! reads on from an unclosed quote to the end of the file, where an import must reject one line and continue with the next.

/// Why a text is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CsvFault {
    /// A quote is not closed: the record may continue on the next line.
    Open,
    /// Something other than a separator follows a closing quote.
    AfterQuote,
}

/// The separators of files that are called CSV. Spreadsheet programs write `;` where the comma is the decimal sign.
pub(super) const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// Splits a record into its fields. A quote inside an unquoted field is literal.
pub(super) fn split(record: &[u8], separator: u8) -> Result<Vec<Vec<u8>>, CsvFault> {
    let mut fields = Vec::new();
    let mut rest = record;
    loop {
        let (field, after) = match rest.strip_prefix(b"\"") {
            Some(quoted) => take_quoted(quoted)?,
            None => {
                let end = rest.iter().position(|byte| *byte == separator).unwrap_or(rest.len());
                (rest[..end].to_vec(), &rest[end..])
            }
        };
        fields.push(field);
        match after.split_first() {
            None => return Ok(fields),
            Some((first, next)) if *first == separator => rest = next,
            Some(_) => return Err(CsvFault::AfterQuote),
        }
    }
}

/// Appends `field` to `line`, quoted if necessary.
pub(in crate::transfer) fn push_field(line: &mut String, field: &str) {
    if !field.contains([',', '"', '\r', '\n']) {
        line.push_str(field);
        return;
    }
    line.push('"');
    line.push_str(&field.replace('"', "\"\""));
    line.push('"');
}

/// The field up to its closing quote, and the rest. Two quotes stand for one.
fn take_quoted(text: &[u8]) -> Result<(Vec<u8>, &[u8]), CsvFault> {
    let mut field = Vec::new();
    let mut rest = text;
    loop {
        let at = rest.iter().position(|byte| *byte == b'"').ok_or(CsvFault::Open)?;
        field.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix(b"\"") {
            Some(next) => {
                field.push(b'"');
                rest = next;
            }
            None => return Ok((field, rest)),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{CsvFault, push_field, split};

    fn fields(text: &str) -> Result<Vec<String>, CsvFault> {
        let fields = split(text.as_bytes(), b',')?;
        Ok(fields.into_iter().map(|field| String::from_utf8(field).unwrap()).collect())
    }

    #[test]
    fn split_follows_rfc_4180() {
        for (text, expected) in [
            ("a,b", vec!["a", "b"]),
            ("", vec![""]),
            (",", vec!["", ""]),
            ("\"a,b\",c", vec!["a,b", "c"]),
            ("\"say \"\"hi\"\"\",", vec!["say \"hi\"", ""]),
            ("\"two\nlines\"", vec!["two\nlines"]),
            ("http://x/?q=\"a\",2", vec!["http://x/?q=\"a\"", "2"]),
        ] {
            assert_eq!(fields(text).unwrap(), expected, "{text:?}");
        }
        let semicolons = split(b"http://x/?a=1,2;\"b;c\";", b';').unwrap();
        assert_eq!(semicolons, [&b"http://x/?a=1,2"[..], b"b;c", b""]);
        assert_eq!(fields("\"open"), Err(CsvFault::Open));
        assert_eq!(fields("\"open\"\""), Err(CsvFault::Open));
        assert_eq!(fields("\"a\"b,c"), Err(CsvFault::AfterQuote));
    }

    #[test]
    fn split_inverts_push_field() {
        for field in ["plain", "", "a,b", "say \"hi\"", "two\r\nlines", "\"", ",", "#no comment"] {
            let mut line = String::new();
            push_field(&mut line, field);
            line.push(',');
            push_field(&mut line, field);
            assert_eq!(fields(&line).unwrap(), [field, field]);
        }
    }
}
