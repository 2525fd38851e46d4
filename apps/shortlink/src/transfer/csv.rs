//! Comma-separated values as RFC 4180 has them.

/// Why a text is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CsvFault {
    /// A quote is opened and not closed: the record may go on in the next line.
    Open,
    /// Something other than a comma follows a closing quote.
    AfterQuote,
}

/// The fields of one record. A quote inside an unquoted field is a character like any other.
pub(super) fn split(record: &[u8]) -> Result<Vec<Vec<u8>>, CsvFault> {
    let mut fields = Vec::new();
    let mut rest = record;
    loop {
        let (field, after) = match rest.strip_prefix(b"\"") {
            Some(quoted) => take_quoted(quoted)?,
            None => {
                let end = rest.iter().position(|byte| *byte == b',').unwrap_or(rest.len());
                (rest[..end].to_vec(), &rest[end..])
            }
        };
        fields.push(field);
        match after.split_first() {
            None => return Ok(fields),
            Some((b',', next)) => rest = next,
            Some(_) => return Err(CsvFault::AfterQuote),
        }
    }
}

/// Adds `field` to `line`, quoted if it has to be.
pub(super) fn push_field(line: &mut String, field: &str) {
    if !field.contains([',', '"', '\r', '\n']) {
        line.push_str(field);
        return;
    }
    line.push('"');
    line.push_str(&field.replace('"', "\"\""));
    line.push('"');
}

/// The field up to its closing quote, and what follows. Two quotes stand for one.
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
        let fields = split(text.as_bytes())?;
        Ok(fields.into_iter().map(|field| String::from_utf8(field).unwrap()).collect())
    }

    #[test]
    fn records_are_split_as_the_rfc_says() {
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
        assert_eq!(fields("\"open"), Err(CsvFault::Open));
        assert_eq!(fields("\"open\"\""), Err(CsvFault::Open));
        assert_eq!(fields("\"a\"b,c"), Err(CsvFault::AfterQuote));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for field in ["plain", "", "a,b", "say \"hi\"", "two\r\nlines", "\"", ",", "#no comment"] {
            let mut line = String::new();
            push_field(&mut line, field);
            line.push(',');
            push_field(&mut line, field);
            assert_eq!(fields(&line).unwrap(), [field, field]);
        }
    }
}
