//! [`RecordedConflict`]: accepted writes that could not be applied, recorded until they are dismissed.

use super::apply::SpooledWrite;
use super::database::{Dialect, Pools};
use super::{Connection, Store, StoreError, with_database};
use crate::domain::Conflict;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use web::sql::Statement;

/// A recorded conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedConflict {
    /// Its number; later conflicts have higher numbers.
    pub number: i64,
    /// Its details.
    pub details: ConflictDetails,
}

/// The details of a conflict, stored as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictDetails {
    /// Code of the link.
    pub code: String,
    /// Version that the write was accepted as.
    pub version: i64,
    /// Time at which the write was given up.
    pub noted_at: Timestamp,
    /// The reason as the API names it.
    pub reason: String,
    /// The reason in a sentence.
    pub detail: String,
    /// The accepted write.
    pub write: serde_json::Value,
}

impl Store {
    /// The newest conflicts, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn conflicts(&self, limit: u32) -> Result<Vec<RecordedConflict>, StoreError> {
        let rows = with_database!(self, pools => pools.conflicts(limit).await)?;
        rows.into_iter().map(RecordedConflict::read).collect()
    }

    /// Deletes a conflict. Returns whether it existed.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn dismiss_conflict(&self, number: i64) -> Result<bool, StoreError> {
        with_database!(self, pools => pools.dismiss_conflict(number).await)
    }
}

pub(super) async fn record<DB: Dialect>(
    connection: &mut DB::Connection,
    waiting: &SpooledWrite,
    conflict: &Conflict,
    now: Timestamp,
) -> Result<(), StoreError> {
    let details = ConflictDetails {
        code: waiting.write.code.to_string(),
        version: waiting.write.version,
        noted_at: now,
        reason: conflict.name().to_owned(),
        detail: conflict.to_string(),
        write: serde_json::from_str(&waiting.body).unwrap_or_default(),
    };
    // A struct of text and numbers always serializes.
    let details = ascii(&serde_json::to_string(&details).unwrap_or_default());
    DB::execute_statement(connection, Statement::new("INSERT INTO link_conflicts (told) VALUES ").list([details]))
        .await?;
    Ok(())
}

/// The JSON text with every character that is not ASCII escaped. The text of a write that the database rejects may have characters that its
/// encoding does not have, and a conflict that could not be recorded either would stop all later writes.
fn ascii(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_ascii() {
            escaped.push(letter);
        } else {
            let units =
                letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            escaped.push_str(&units);
        }
    }
    escaped
}

impl RecordedConflict {
    fn read((number, details): (i64, String)) -> Result<Self, StoreError> {
        let unreadable = |why| StoreError::Corrupt(format!("conflict {number}: {why}"));
        Ok(Self { number, details: serde_json::from_str(&details).map_err(unreadable)? })
    }
}

impl<DB: Dialect> Pools<DB> {
    async fn conflicts(&self, limit: u32) -> Result<Vec<(i64, String)>, StoreError> {
        let select = Statement::new("SELECT id, told FROM link_conflicts ORDER BY id DESC LIMIT ");
        let rows = DB::fetch_rows(&mut *self.reader().await?, select.bind(i64::from(limit))).await?;
        rows.iter().map(|row| Ok((DB::int_at(row, 0)?, DB::text_at(row, 1)?))).collect()
    }

    async fn dismiss_conflict(&self, number: i64) -> Result<bool, StoreError> {
        let delete = Statement::new("DELETE FROM link_conflicts WHERE id = ").bind(number);
        Ok(DB::execute_statement(&mut *self.writer().await?, delete).await? > 0)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::ascii;
    use serde_json::{Value, json};

    // shows: hazard T1
    #[test]
    fn escaped_json_is_ascii_and_means_the_same() {
        let value = json!({ "target": "https://example.com/\u{1f600}/M\u{fc}ller\"\\\n", "\u{e9}": 1 });
        let escaped = ascii(&value.to_string());
        assert!(escaped.is_ascii(), "{escaped}");
        assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value);
    }
}
