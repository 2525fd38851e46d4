//! The SQL that all databases share.

use super::StoreError;
use super::database::{Dialect, Pools};
use super::rows::{self, COLUMNS, fetch_links, like_pattern, numbers_before, target_hash};
use crate::domain::{Code, Link, Page, PageRequest, ROWS_REACHED_MAX};
use evenkeel::sql::ForUpdate;
use std::ops::Range;
use web::signed;
use web::sql::Statement;

/// Whether a read locks its rows until the end of the transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowLock {
    None,
    ForUpdate,
}

/// The clause that locks the selected rows until the end of the transaction. Empty on SQLite, whose transactions lock the whole file.
fn for_update<DB: Dialect>() -> String {
    ForUpdate::Wait.of::<DB>("").0
}

fn select() -> Statement {
    Statement::new(format!("SELECT {COLUMNS} FROM links WHERE "))
}

pub(super) async fn find_many<DB: Dialect>(
    connection: &mut DB::Connection,
    codes: &[Code],
    lock: RowLock,
) -> Result<Vec<Link>, StoreError> {
    if codes.is_empty() {
        return Ok(Vec::new());
    }
    let mut select = select().text("code IN ").list(codes.iter().map(Code::as_str));
    if lock == RowLock::ForUpdate {
        select = select.text(for_update::<DB>());
    }
    rows::links(fetch_links::<DB>(connection, select).await?)
}

/// [`StoreError::Duplicate`] if a code is taken; the transaction must be rolled back then.
pub(super) async fn insert<DB: Dialect>(connection: &mut DB::Connection, links: &[Link]) -> Result<(), StoreError> {
    if links.is_empty() {
        return Ok(());
    }
    let mut insert = Statement::new(
        "INSERT INTO links (code, target, target_hash, alias, created_at, updated_at, expires_at, banned, version) VALUES ",
    );
    for (number, link) in links.iter().enumerate() {
        insert = insert.text(if number == 0 { "(" } else { "), (" }).bind(link.code.as_str());
        insert = insert.text(", ").bind(link.target.as_str());
        insert = insert.text(", ").bind(target_hash(link.target.as_str()));
        insert = insert.text(", ").bind(link.alias);
        insert = insert.text(", ").bind(link.created_at.as_millisecond());
        insert = insert.text(", ").bind(link.updated_at.as_millisecond());
        insert = insert.text(", ").bind(link.expires_at.map(|end| end.as_millisecond()));
        insert = insert.text(", ").bind(link.banned);
        insert = insert.text(", ").bind(link.version);
    }
    DB::execute_statement(connection, insert.text(")")).await?;
    Ok(())
}

/// Updates the link. A changed expiry clears the mark that the link has ended.
pub(super) async fn update<DB: Dialect>(
    connection: &mut DB::Connection,
    link: &Link,
    expiry_changed: bool,
) -> Result<(), StoreError> {
    let mut update = Statement::new("UPDATE links SET target = ").bind(link.target.as_str());
    update = update.text(", target_hash = ").bind(target_hash(link.target.as_str()));
    update = update.text(", updated_at = ").bind(link.updated_at.as_millisecond());
    update = update.text(", expires_at = ").bind(link.expires_at.map(|end| end.as_millisecond()));
    update = update.text(", banned = ").bind(link.banned);
    if expiry_changed {
        update = update.text(", ended_at = NULL");
    }
    let update = update.text(", version = ").bind(link.version).text(" WHERE code = ").bind(link.code.as_str());
    DB::execute_statement(connection, update).await?;
    Ok(())
}

/// Deletes a link and its counters of clicks.
pub(super) async fn delete<DB: Dialect>(connection: &mut DB::Connection, code: &Code) -> Result<(), StoreError> {
    for table in ["links", "link_clicks"] {
        let delete = Statement::new(format!("DELETE FROM {table} WHERE code = ")).bind(code.as_str());
        DB::execute_statement(connection, delete).await?;
    }
    Ok(())
}

/// Marks the link as ended. Returns false if it was marked before.
pub(super) async fn mark_ended<DB: Dialect>(
    connection: &mut DB::Connection,
    code: &Code,
    now_ms: i64,
) -> Result<bool, StoreError> {
    let update = Statement::new("UPDATE links SET ended_at = ").bind(now_ms);
    let update = update.text(" WHERE ended_at IS NULL AND code = ").bind(code.as_str());
    Ok(DB::execute_statement(connection, update).await? > 0)
}

pub(super) async fn page<DB: Dialect>(pools: &Pools<DB>, request: &PageRequest) -> Result<Page, StoreError> {
    let mut connection = pools.lists.acquire().await?;
    let searched = |statement: Statement| match request.search() {
        Some(text) => DB::matches(statement, like_pattern(text)),
        None => statement.text("1 = 1"),
    };
    let rows = searched(select()).text(" ORDER BY id DESC LIMIT ").bind(i64::from(request.size()));
    let rows = rows.text(" OFFSET ").bind(signed(request.skipped()));
    let found = rows::links(fetch_links::<DB>(&mut connection, rows).await?)?;

    let most = i64::try_from(ROWS_REACHED_MAX).unwrap_or(i64::MAX) + 1;
    let count = searched(Statement::new("SELECT COUNT(*) FROM (SELECT 1 FROM links WHERE "));
    let count = count.text(" LIMIT ").bind(most).text(") AS counted");
    let total = DB::fetch_ints(&mut connection, count).await?.first().copied().unwrap_or(0);
    Ok(Page::counted(found, total))
}

/// Rows after a row number; with `ending_after_ms`, only links that expire after that time.
pub(super) async fn rows_after<DB: Dialect>(
    pools: &Pools<DB>,
    after: i64,
    limit: u32,
    ending_after_ms: Option<i64>,
) -> Result<Vec<(i64, Link)>, StoreError> {
    let mut select = select().text("id > ").bind(after);
    if let Some(now_ms) = ending_after_ms {
        select = select.text(" AND expires_at > ").bind(now_ms);
    }
    let select = select.text(" ORDER BY id LIMIT ").bind(i64::from(limit));
    rows::links_with_ids(fetch_links::<DB>(&mut *pools.reader().await?, select).await?)
}

/// The `targets` that links already have, without duplicates.
pub(super) async fn known_targets<DB: Dialect>(
    connection: &mut DB::Connection,
    targets: &[&str],
) -> Result<Vec<String>, StoreError> {
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    let select = Statement::new("SELECT DISTINCT target FROM links WHERE target_hash IN ");
    let select = select.list(targets.iter().map(|target| target_hash(target)));
    Ok(DB::fetch_texts(connection, select).await?)
}

/// Reserves `count` numbers of the sequence. A rollback returns them.
pub(super) async fn reserve<DB: Dialect>(
    connection: &mut DB::Connection,
    count: u64,
) -> Result<Range<u64>, StoreError> {
    let count = signed(count);
    numbers_before(DB::reserve(connection, count).await?, count)
}

/// Serializes imports: waits for the transaction of any other import.
pub(super) async fn lock_imports<DB: Dialect>(connection: &mut DB::Connection) -> Result<(), StoreError> {
    // A database without row locks has one writer at a time.
    let for_update = for_update::<DB>();
    if !for_update.is_empty() {
        let lock = Statement::new("SELECT next_value FROM link_sequences WHERE name = 'imports'").text(for_update);
        DB::fetch_ints(connection, lock).await?;
    }
    Ok(())
}

/// The value of a setting.
pub(super) async fn setting<DB: Dialect>(
    connection: &mut DB::Connection,
    name: &str,
) -> Result<Option<String>, StoreError> {
    let select = Statement::new("SELECT value FROM link_settings WHERE name = ").bind(name);
    Ok(DB::fetch_texts(connection, select).await?.pop())
}

/// The value of a setting; stores `value` first if there is none.
pub(super) async fn setting_or_insert<DB: Dialect>(
    pools: &Pools<DB>,
    name: &str,
    value: &str,
) -> Result<String, StoreError> {
    let mut connection = pools.writer().await?;
    let (before, after) = DB::INSERT_IGNORE;
    let insert = Statement::new(before).text("link_settings (name, value) VALUES ").list([name, value]).text(after);
    DB::execute_statement(&mut connection, insert).await?;
    let missing = || StoreError::Corrupt(format!("the setting {name:?} was not stored"));
    setting::<DB>(&mut connection, name).await?.ok_or_else(missing)
}

/// The checkpoint of the import of `source`.
pub(super) async fn checkpoint<DB: Dialect>(pools: &Pools<DB>, source: &str) -> Result<Option<String>, StoreError> {
    let select = Statement::new("SELECT state FROM link_imports WHERE source = ").bind(source);
    Ok(DB::fetch_texts(&mut *pools.reader().await?, select).await?.pop())
}

pub(super) async fn store_checkpoint<DB: Dialect>(
    connection: &mut DB::Connection,
    source: &str,
    state: &str,
) -> Result<(), StoreError> {
    let (before, after) = DB::UPSERT;
    let insert = Statement::new(before).text("link_imports (source, state) VALUES ").list([source, state]).text(after);
    DB::execute_statement(connection, insert).await?;
    Ok(())
}

pub(super) async fn delete_checkpoint<DB: Dialect>(pools: &Pools<DB>, source: &str) -> Result<(), StoreError> {
    DB::execute_statement(
        &mut *pools.writer().await?,
        Statement::new("DELETE FROM link_imports WHERE source = ").bind(source),
    )
    .await?;
    Ok(())
}

/// The sequence of the last applied write of the spool `source`.
pub(super) async fn applied_sequence<DB: Dialect>(
    connection: &mut DB::Connection,
    source: &str,
) -> Result<u64, StoreError> {
    let select = Statement::new("SELECT state FROM link_spools WHERE source = ").bind(source);
    let last = DB::fetch_ints(connection, select).await?.pop();
    Ok(last.and_then(|last| u64::try_from(last).ok()).unwrap_or(0))
}

pub(super) async fn store_applied_sequence<DB: Dialect>(
    connection: &mut DB::Connection,
    source: &str,
    sequence: u64,
) -> Result<(), StoreError> {
    let (before, after) = DB::UPSERT;
    let insert = Statement::new(before).text("link_spools (source, state) VALUES (").bind(source).text(", ");
    let insert = insert.bind(signed(sequence)).text(")").text(after);
    DB::execute_statement(connection, insert).await?;
    Ok(())
}

pub(super) async fn ping<DB: Dialect>(pools: &Pools<DB>) -> Result<(), StoreError> {
    DB::fetch_ints(
        &mut *pools.reader().await?,
        Statement::new("SELECT next_value FROM link_sequences WHERE name = 'codes'"),
    )
    .await?;
    Ok(())
}

/// The row of `link_settings` that [`try_write`] changes.
const TRIED_WRITE: &str = "tried_write";

/// Changes a row of its own.
pub(super) async fn try_write<DB: Dialect>(pools: &Pools<DB>, now_ms: i64) -> Result<(), StoreError> {
    let mut connection = pools.writer().await?;
    let update = Statement::new("UPDATE link_settings SET value = ").bind(now_ms.to_string());
    let update = update.text(" WHERE name = ").bind(TRIED_WRITE);
    if DB::execute_statement(&mut connection, update).await? == 0 {
        let (before, after) = DB::INSERT_IGNORE;
        let insert = Statement::new(before).text("link_settings (name, value) VALUES ").list([TRIED_WRITE, ""]);
        DB::execute_statement(&mut connection, insert.text(after)).await?;
    }
    Ok(())
}
