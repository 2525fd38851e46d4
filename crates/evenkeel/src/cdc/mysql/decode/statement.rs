//! Statements of the log: what begins and ends groups, and what may have changed rows that the log does not have.

use super::cursor::Cursor;
use super::{Decoded, inflate};
use std::borrow::Cow;

/// A statement.
#[derive(Clone, Debug)]
pub(in super::super) struct Query<'a> {
    text: Cow<'a, [u8]>,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Statement {
    Begin,
    Commit,
    /// Changes before it, of this group, did not happen.
    Rollback,
    /// It changes no table: savepoints, rights, `XA END`.
    Nothing,
    /// `XA START`, with the id of the transaction as the server prints it.
    XaStart(String),
    XaCommit(String),
    XaRollback(String),
    /// It defines something; its text names what.
    Definition {
        /// Rows may have appeared, changed or gone.
        rows: bool,
    },
    /// It changes rows, and the log does not have them.
    Rows,
}

impl<'a> Query<'a> {
    pub(in super::super) fn decode(body: &'a [u8], compressed: bool) -> Decoded<Self> {
        let mut from = Cursor::new(body);
        from.take(8)?;
        let database = usize::from(from.u8()?);
        from.u16()?;
        let variables = usize::from(from.u16()?);
        from.take(variables)?;
        from.take(database)?;
        from.u8()?;
        let text = if compressed { Cow::Owned(inflate::event(from.rest())?) } else { Cow::Borrowed(from.rest()) };
        Ok(Self { text })
    }

    /// The text, with bytes that are not UTF-8 replaced.
    pub(in super::super) fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }

    /// Whether the text may name this table. Never `false` if it does.
    pub(in super::super) fn may_name(&self, schema: &str, table: &str) -> bool {
        if !self.text.is_ascii() {
            // The text is in the session's character set, which may not be UTF-8, and case folding may differ.
            return true;
        }
        let text = self.text().to_ascii_lowercase();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let words = || text.split(|c| !plain(c));
        let names = |name: &str| {
            let name = name.to_ascii_lowercase();
            if name.chars().all(plain) {
                words().any(|word| word == name)
            } else {
                !name.is_ascii() || text.contains(&name.replace('`', "``"))
            }
        };
        names(table) || words().any(|word| matches!(word, "database" | "schema")) && names(schema)
    }

    pub(in super::super) fn statement(&self) -> Statement {
        let text = self.text();
        let text = without_comments(&text);
        let upper = text.to_ascii_uppercase();
        let mut words = upper.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        let first = words.next().unwrap_or_default();
        let second = words.next().unwrap_or_default();
        match (first, second) {
            ("BEGIN", _) | ("START", "TRANSACTION") => Statement::Begin,
            ("COMMIT", _) => Statement::Commit,
            ("ROLLBACK", "TO")
            | (
                "SAVEPOINT" | "RELEASE" | "GRANT" | "REVOKE" | "SET" | "FLUSH" | "ANALYZE" | "INSTALL" | "UNINSTALL",
                _,
            )
            | ("XA", "END" | "PREPARE")
            | ("DROP", "TEMPORARY") => Statement::Nothing,
            ("ROLLBACK", _) => Statement::Rollback,
            ("XA", "START" | "BEGIN") => Statement::XaStart(xa(text)),
            ("XA", "COMMIT") => Statement::XaCommit(xa(text)),
            ("XA", "ROLLBACK") => Statement::XaRollback(xa(text)),
            ("CREATE" | "COMMENT", _) => Statement::Definition { rows: replaces(&upper) },
            ("ALTER", _) => Statement::Definition { rows: upper.contains("PARTITION") || upper.contains("TABLESPACE") },
            ("DROP" | "TRUNCATE" | "RENAME", _) => Statement::Definition { rows: true },
            ("OPTIMIZE" | "REPAIR" | "CHECK", _) => Statement::Definition { rows: false },
            _ => Statement::Rows,
        }
    }
}

/// `CREATE OR REPLACE TABLE` drops the rows there were.
fn replaces(upper: &str) -> bool {
    upper.contains("REPLACE")
}

fn xa(text: &str) -> String {
    let id = text.split_whitespace().skip(2).collect::<String>();
    id.to_ascii_lowercase()
}

/// The text behind white space and comments at its start. The text of an executable comment (`/*!50000 .. */`) counts.
fn without_comments(text: &str) -> &str {
    let mut text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    loop {
        let rest = if let Some(executable) = text.strip_prefix("/*M!").or_else(|| text.strip_prefix("/*!")) {
            Some(executable.trim_start_matches(|c: char| c.is_ascii_digit()))
        } else if let Some(comment) = text.strip_prefix("/*") {
            comment.split_once("*/").map(|(_, rest)| rest)
        } else if text.starts_with('#') || text.starts_with("-- ") {
            text.split_once('\n').map(|(_, rest)| rest)
        } else {
            None
        };
        match rest {
            Some(rest) => text = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '('),
            None => return text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query<'_> {
        Query { text: Cow::Borrowed(text.as_bytes()) }
    }

    #[test]
    fn statements_are_told_by_their_first_words() {
        let rows = Statement::Definition { rows: true };
        let no_rows = Statement::Definition { rows: false };
        for (text, expected) in [
            ("BEGIN", Statement::Begin),
            ("COMMIT", Statement::Commit),
            ("ROLLBACK", Statement::Rollback),
            ("ROLLBACK TO `a`", Statement::Nothing),
            ("XA COMMIT X'61',X'',1", Statement::XaCommit("x'61',x'',1".to_owned())),
            ("/* c */ INSERT INTO t VALUES (1)", Statement::Rows),
            ("-- c\n(SELECT f())", Statement::Rows),
            ("WITH x AS (SELECT 1) UPDATE t SET a = 1", Statement::Rows),
            ("something new", Statement::Rows),
            ("", Statement::Rows),
            ("TRUNCATE t", rows.clone()),
            ("/*!40000 ALTER TABLE t DROP PARTITION p */", rows.clone()),
            ("CREATE OR REPLACE TABLE t (id INT)", rows),
            ("alter table t add column a int", no_rows),
            ("GRANT SELECT ON t TO u", Statement::Nothing),
        ] {
            assert_eq!(query(text).statement(), expected, "{text}");
        }
    }

    #[test]
    fn text_names_a_table_in_every_spelling() {
        for text in ["ALTER TABLE Users", "drop table `shop`.`users`", "DROP DATABASE shop", "ALTER TABLE über"] {
            assert!(query(text).may_name("shop", "users"), "{text}");
        }
        assert!(query("DROP TABLE `a``b c`").may_name("shop", "a`b c"));
        for text in ["ALTER TABLE users_roles", "DROP DATABASE other", "ALTER TABLE shop.other"] {
            assert!(!query(text).may_name("shop", "users"), "{text}");
        }
    }
}
