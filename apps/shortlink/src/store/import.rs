//! The import of rows: creates the new ones, skips the existing ones, reports the conflicting ones.

use super::clicks::{self, Counters};
use super::database::{Dialect, Pools};
use super::hook::Change;
use super::statements::{self, RowLock};
use super::{CODE_ATTEMPTS_MAX, Committed, Store, StoreError, Writer};
use crate::codes::CODES;
use crate::domain::{ClickHistory, Code, Link, Target, next_version, truncate_to_ms};
use evenkeel::sql::Contended;
use jiff::Timestamp;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

/// A row to import. An exported row is restored exactly; `None` fields get the values of a new link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportRow {
    /// The code; `None` generates one, unless a link with this target exists.
    pub code: Option<Code>,
    /// Whether a user chose the code (meaningless without a code).
    pub alias: bool,
    /// The target.
    pub target: Target,
    /// Expiry; it may be in the past.
    pub expires_at: Option<Timestamp>,
    /// Whether the link is banned.
    pub banned: bool,
    /// Time of creation.
    pub created_at: Option<Timestamp>,
    /// Time of the last change.
    pub updated_at: Option<Timestamp>,
    /// Version.
    pub version: Option<i64>,
    /// The clicks of a new link.
    pub clicks: ClickHistory,
}

/// The outcome of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowOutcome {
    /// A new link with this code.
    Created(Code),
    /// The link already exists; nothing was changed.
    Present,
    /// Another link has the code, with another target; nothing was changed.
    Taken(Code),
    /// The database does not accept the row's values; nothing was changed. With its message.
    Refused(String),
}

/// Receives the outcomes of a batch before its commit. The checkpoint that it returns is committed with the batch.
///
/// Called with the outcomes in the order of the rows, and again if the database rejected rows when it committed. The commit that follows
/// may still fail. An error says that the outcomes cannot be recorded; it rolls the batch back.
pub type ImportLog<'l> = dyn FnMut(&[RowOutcome]) -> io::Result<Checkpoint> + Send + 'l;

/// The state of an interrupted import. The store writes it in the transaction of the rows, and does not interpret it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of the import (same file, same options), at most 64 characters.
    pub source: String,
    /// What the import needs to resume.
    pub state: String,
}

/// Rows that the database rejects, by their index, with its message.
type Refused = BTreeMap<usize, String>;

/// The end of a transaction of rows.
enum Ending<'e, 'l> {
    /// Commits it, with the checkpoint of `log`, which receives the outcomes of the refused rows as well.
    Commit { log: Option<&'e mut ImportLog<'l>>, refused: &'e Refused },
    /// Rolls it back: it only found out whether the database accepts the rows.
    RollBack,
}

/// See [`Writer::import`] and [`Writer::import_logged`].
pub(super) async fn import<DB: Dialect>(
    writer: &Writer,
    pools: &Pools<DB>,
    rows: &[ImportRow],
    mut log: Option<&mut ImportLog<'_>>,
) -> Result<Committed<Vec<RowOutcome>>, StoreError> {
    let mut refused = Refused::new();
    loop {
        let ending = Ending::Commit { log: log.as_deref_mut(), refused: &refused };
        let error = match attempt(writer, pools, &without(rows, &refused), ending).await {
            Err(error) if error.rejects_values() => error,
            result => return result,
        };
        let found = find_refused(writer, pools, rows, &refused).await?;
        if found.is_empty() {
            return Err(error);
        }
        refused.extend(found);
    }
}

/// The rows without the refused ones.
fn without<'r>(rows: &'r [ImportRow], refused: &Refused) -> Cow<'r, [ImportRow]> {
    if refused.is_empty() {
        return Cow::Borrowed(rows);
    }
    let kept = rows.iter().enumerate().filter(|(index, _)| !refused.contains_key(index));
    Cow::Owned(kept.map(|(_, row)| row.clone()).collect())
}

/// The outcomes of all rows: `written` are those of the rows that were not refused.
fn of_all(written: Vec<RowOutcome>, refused: &Refused) -> Vec<RowOutcome> {
    let count = written.len() + refused.len();
    let mut written = written.into_iter();
    let outcome = |index| match refused.get(&index) {
        Some(why) => Some(RowOutcome::Refused(why.clone())),
        None => written.next(),
    };
    (0..count).filter_map(outcome).collect()
}

/// Finds the rows that the database rejects: it tries all, then halves, down to single rows, in transactions that are rolled back.
async fn find_refused<DB: Dialect>(
    writer: &Writer,
    pools: &Pools<DB>,
    rows: &[ImportRow],
    known: &Refused,
) -> Result<Refused, StoreError> {
    let candidates: Vec<usize> = (0..rows.len()).filter(|index| !known.contains_key(index)).collect();
    let mut found = Refused::new();
    let mut parts = vec![&candidates[..]];
    while let Some(part) = parts.pop() {
        let tried: Vec<ImportRow> = part.iter().map(|index| rows[*index].clone()).collect();
        match (attempt(writer, pools, &tried, Ending::RollBack).await, part) {
            (Ok(_), _) => {}
            (Err(error), [index]) if error.rejects_values() => {
                found.insert(*index, error.message());
            }
            (Err(error), _) if error.rejects_values() && part.len() > 1 => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([first, second]);
            }
            (Err(error), _) => return Err(error),
        }
    }
    Ok(found)
}

/// One transaction of rows.
async fn attempt<DB: Dialect>(
    writer: &Writer,
    pools: &Pools<DB>,
    rows: &[ImportRow],
    mut ending: Ending<'_, '_>,
) -> Result<Committed<Vec<RowOutcome>>, StoreError> {
    for _ in 0..CODE_ATTEMPTS_MAX {
        let mut work = writer.begin(pools).await?;
        statements::lock_imports::<DB>(work.tx()).await?;
        let (outcomes, links) = sort_out::<DB>(writer, work.tx(), rows).await?;
        match statements::insert::<DB>(work.tx(), &links).await {
            Ok(()) => {}
            // Another transaction created a link of the same code after this one had read. Read again.
            Err(error) if matches!(error, StoreError::Duplicate) || error.conflict().is_some() => {
                work.rollback().await?;
                continue;
            }
            Err(error) => return Err(error),
        }
        clicks::add_all::<DB>(work.tx(), &clicks_of(rows, &outcomes)).await?;
        for link in &links {
            writer.add_effects(Change::Imported(link), &mut work)?;
        }
        let Ending::Commit { log, refused } = &mut ending else {
            work.rollback().await?;
            return Ok(Committed { value: outcomes, effects_done: false });
        };
        let outcomes = of_all(outcomes, refused);
        if let Some(log) = log {
            let checkpoint = log(&outcomes).map_err(StoreError::Log)?;
            statements::store_checkpoint::<DB>(work.tx(), &checkpoint.source, &checkpoint.state).await?;
        }
        let effects_done = work.commit().await?.carried_out;
        return Ok(Committed { value: outcomes, effects_done });
    }
    Err(StoreError::CodesExhausted)
}

/// Determines the outcome of every row and the links to insert.
async fn sort_out<DB: Dialect>(
    store: &Store,
    transaction: &mut DB::Connection,
    rows: &[ImportRow],
) -> Result<(Vec<RowOutcome>, Vec<Link>), StoreError> {
    let requested: Vec<Code> = rows.iter().filter_map(|row| row.code.clone()).collect();
    let uncoded: Vec<&str> = rows.iter().filter(|row| row.code.is_none()).map(|row| row.target.as_str()).collect();
    let found = statements::find_many::<DB>(transaction, &requested, RowLock::None).await?;
    let mut targets_by_code: HashMap<Code, Target> = found.into_iter().map(|link| (link.code, link.target)).collect();
    let known = statements::known_targets::<DB>(transaction, &uncoded).await?;
    let mut targets: HashSet<String> = known.into_iter().collect();
    let needed = uncoded.iter().filter(|target| !targets.contains(**target)).count();
    let mut free = free_codes::<DB>(store, transaction, needed, &requested).await?.into_iter();

    let now = store.now();
    let mut outcomes = Vec::with_capacity(rows.len());
    let mut links = Vec::new();
    for row in rows {
        let known = row.code.as_ref().and_then(|code| targets_by_code.get(code));
        let code = match (&row.code, known) {
            (Some(code), Some(target)) => {
                outcomes.push(if *target == row.target {
                    RowOutcome::Present
                } else {
                    RowOutcome::Taken(code.clone())
                });
                continue;
            }
            (None, _) if targets.contains(row.target.as_str()) => {
                outcomes.push(RowOutcome::Present);
                continue;
            }
            (Some(code), None) => code.clone(),
            (None, _) => free.next().ok_or(StoreError::CodesExhausted)?,
        };
        targets_by_code.insert(code.clone(), row.target.clone());
        targets.insert(row.target.as_str().to_owned());
        outcomes.push(RowOutcome::Created(code.clone()));
        links.push(link(row, code, now));
    }
    Ok((outcomes, links))
}

/// `needed` generated codes that no link has and no row of this batch asks for. A rollback returns their numbers to the sequence.
async fn free_codes<DB: Dialect>(
    store: &Store,
    transaction: &mut DB::Connection,
    needed: usize,
    requested: &[Code],
) -> Result<Vec<Code>, StoreError> {
    let requested: HashSet<&Code> = requested.iter().collect();
    let mut free: Vec<Code> = Vec::with_capacity(needed);
    while free.len() < needed {
        let missing = u64::try_from(needed - free.len()).unwrap_or(u64::MAX);
        let numbers = statements::reserve::<DB>(transaction, missing).await?;
        if numbers.end > CODES {
            return Err(StoreError::CodesExhausted);
        }
        let drawn: Vec<Code> = numbers.filter_map(|number| store.0.codes.code(number)).collect();
        let met = statements::find_many::<DB>(transaction, &drawn, RowLock::None).await?;
        let met: HashSet<Code> = met.into_iter().map(|link| link.code).collect();
        free.extend(drawn.into_iter().filter(|code| !met.contains(code) && !requested.contains(code)));
    }
    Ok(free)
}

/// The counters of the new links.
fn clicks_of(rows: &[ImportRow], outcomes: &[RowOutcome]) -> Counters {
    let mut counters = Counters::new();
    for (row, outcome) in rows.iter().zip(outcomes) {
        if let RowOutcome::Created(code) = outcome {
            counters.extend(row.clicks.days().map(|(day, counts)| ((code.clone(), day), counts)));
        }
    }
    counters
}

fn link(row: &ImportRow, code: Code, now: Timestamp) -> Link {
    let created_at = row.created_at.map_or(now, truncate_to_ms);
    Link {
        alias: row.code.is_some() && row.alias,
        code,
        target: row.target.clone(),
        created_at,
        updated_at: row.updated_at.map_or(created_at, truncate_to_ms),
        expires_at: row.expires_at.map(truncate_to_ms),
        banned: row.banned,
        version: row.version.unwrap_or_else(|| next_version(None, now)),
    }
}
