//! Splits a migration for MySQL and MariaDB into its statements.

/// The statements of a script, without those that consist only of comments.
///
/// A routine or a trigger contains semicolons, so a script that creates one is treated as a single statement.
pub(super) fn statements(script: &str) -> Vec<&str> {
    if has_body(script) {
        return vec![script];
    }
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let bytes = script.as_bytes();
    while at < bytes.len() {
        at = match bytes[at] {
            b';' => {
                found.push(&script[start..at]);
                start = at + 1;
                start
            }
            _ => after_token(bytes, at),
        };
    }
    found.push(&script[start..]);
    found.retain(|statement| !first_word(statement).is_empty());
    found
}

/// Whether the statement changes only rows, so that a transaction can roll it back.
pub(super) fn changes_rows(statement: &str) -> bool {
    let word = first_word(statement);
    ["INSERT", "UPDATE", "DELETE", "REPLACE", "SELECT", "WITH", "SET"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

fn has_body(script: &str) -> bool {
    let upper = script.to_ascii_uppercase();
    let words: Vec<_> = upper.split_ascii_whitespace().collect();
    words.contains(&"CREATE") && ["TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"].iter().any(|kind| words.contains(kind))
}

/// The first word after white space and comments; empty if there is none.
fn first_word(statement: &str) -> &str {
    let bytes = statement.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let after = after_comment(bytes, at);
        if after == at {
            break;
        }
        at = after;
    }
    let rest = &statement[at..];
    rest.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or(rest)
}

/// The end of the token at `at`: a quoted string, a comment, or one byte.
fn after_token(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    if !matches!(quote, b'\'' | b'"' | b'`') {
        let after = after_comment(bytes, at);
        return if after == at { at + 1 } else { after };
    }
    let mut next = at + 1;
    while next < bytes.len() && bytes[next] != quote {
        // A doubled quote is treated as the end of one string and the start of another, which gives the same result here.
        next += if bytes[next] == b'\\' && quote != b'`' { 2 } else { 1 };
    }
    (next + 1).min(bytes.len())
}

/// The end of the comment at `at`; `at` itself if there is none.
fn after_comment(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let ends_with_line = rest[0] == b'#' || rest == b"--" || rest.starts_with(b"--") && rest[2].is_ascii_whitespace();
    let length = if ends_with_line {
        rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1)
    } else if rest.starts_with(b"/*") && !rest.starts_with(b"/*!") {
        rest.windows(2).skip(2).position(|pair| pair == b"*/").map_or(rest.len(), |end| end + 4)
    } else {
        0
    };
    at + length
}

#[cfg(test)]
mod tests {
    use super::{changes_rows, statements};

    #[test]
    fn script_is_split_at_semicolons_outside_strings() {
        let script = "-- one; two\nCREATE TABLE a (t TEXT DEFAULT ';\\';'); # three;\n/* four; */ INSERT INTO a VALUES (';'';');\n-- end";
        let found = statements(script);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].ends_with("DEFAULT ';\\';')") && !changes_rows(found[0]), "{found:?}");
        assert!(found[1].ends_with("(';'';')") && changes_rows(found[1]), "{found:?}");
        assert!(statements("-- nothing\n ; ;").is_empty());
    }

    #[test]
    fn script_with_a_trigger_is_one_statement() {
        let trigger = "CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN SET NEW.x = 1; SET NEW.y = 2; END";
        assert_eq!(statements(trigger), [trigger]);
    }

    #[test]
    fn unterminated_string_extends_to_the_end() {
        for script in ["SELECT 'x", "SELECT 'x\\", "/* x", "/*", "-- x", "--", "#", "'"] {
            assert!(statements(script).len() <= 1, "{script}");
        }
    }
}
