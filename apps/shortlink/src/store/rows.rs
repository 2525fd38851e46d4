//! Conversion between a link and its row. Times are whole milliseconds since 1970, which every database stores alike.

use super::StoreError;
use crate::domain::{Code, Link, Target};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use std::ops::Range;
use web::sql::{Driver, Statement};

/// A row of `links`.
pub(super) struct LinkRow {
    pub(super) id: i64,
    code: String,
    target: String,
    alias: bool,
    created_at: i64,
    updated_at: i64,
    expires_at: Option<i64>,
    banned: bool,
    version: i64,
}

/// The columns of a [`LinkRow`], in the order in which it is read.
pub(super) const COLUMNS: &str = "id, code, target, alias, created_at, updated_at, expires_at, banned, version";

/// Executes a query for [`COLUMNS`].
pub(super) async fn fetch_links<DB: Driver>(
    connection: &mut DB::Connection,
    select: Statement,
) -> Result<Vec<LinkRow>, sqlx::Error> {
    DB::fetch_rows(connection, select).await?.iter().map(LinkRow::read::<DB>).collect()
}

impl LinkRow {
    fn read<DB: Driver>(row: &DB::Row) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: DB::int_at(row, 0)?,
            code: DB::text_at(row, 1)?,
            target: DB::text_at(row, 2)?,
            alias: DB::bool_at(row, 3)?,
            created_at: DB::int_at(row, 4)?,
            updated_at: DB::int_at(row, 5)?,
            expires_at: DB::optional_int_at(row, 6)?,
            banned: DB::bool_at(row, 7)?,
            version: DB::int_at(row, 8)?,
        })
    }

    pub(super) fn into_link(self) -> Result<Link, StoreError> {
        let code = Code::parse(&self.code).map_err(|why| StoreError::Corrupt(format!("row {}: {why}", self.id)))?;
        Ok(Link {
            code,
            target: Target::stored(self.target),
            alias: self.alias,
            created_at: time(self.id, self.created_at)?,
            updated_at: time(self.id, self.updated_at)?,
            expires_at: self.expires_at.map(|ms| time(self.id, ms)).transpose()?,
            banned: self.banned,
            version: self.version,
        })
    }
}

pub(super) fn links(rows: Vec<LinkRow>) -> Result<Vec<Link>, StoreError> {
    rows.into_iter().map(LinkRow::into_link).collect()
}

/// Each link with the id of its row.
pub(super) fn links_with_ids(rows: Vec<LinkRow>) -> Result<Vec<(i64, Link)>, StoreError> {
    rows.into_iter().map(|row| Ok((row.id, row.into_link()?))).collect()
}

/// The `count` numbers that were reserved by moving the sequence to `end`.
pub(super) fn numbers_before(end: i64, count: i64) -> Result<Range<u64>, StoreError> {
    let range = u64::try_from(end - count).ok().zip(u64::try_from(end).ok());
    range.map(|(start, end)| start..end).ok_or_else(|| StoreError::Corrupt(format!("the code sequence is at {end}")))
}

fn time(row: i64, ms: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_millisecond(ms).map_err(|_| StoreError::Corrupt(format!("row {row}: invalid time, {ms} ms")))
}

/// The lookup key of a target, because URLs are too long for an index: 128 bits of SHA-256. Queries compare the target as well.
pub(super) fn target_hash(target: &str) -> Vec<u8> {
    Sha256::digest(target.as_bytes())[..16].to_vec()
}

/// `%text%` for `LIKE .. ESCAPE '!'`, with the wildcards in `text` escaped.
pub(super) fn like_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for character in text.chars() {
        if matches!(character, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::like_pattern;

    #[test]
    fn like_pattern_escapes_wildcards() {
        assert_eq!(like_pattern("100%_a!b"), "%100!%!_a!!b%");
    }
}
