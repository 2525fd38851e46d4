//! Rows of an import: which are new, which are there already, which cannot be.

use super::dialect::Dialect;
use super::follow::Change;
use super::pools::Pools;
use super::statements::{self, Hold};
use super::{CODE_ATTEMPTS_MAX, Checkpoint, Committed, Store, StoreError, Writer};
use crate::codes::CODES;
use crate::domain::{Code, Link, Target, version_after, whole_ms};
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};

/// A row to be taken. What an export wrote comes back exactly; what is `None` is filled in as for a new link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportRow {
    /// The link's code; `None`: generate one, unless some link leads there already.
    pub code: Option<Code>,
    /// Whether the code was chosen by somebody (meaningless without a code).
    pub alias: bool,
    /// Where it leads.
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
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowOutcome {
    /// A new link, with this code.
    Created(Code),
    /// The link exists already; nothing was changed.
    Present,
    /// Its code leads elsewhere already. Neither was changed.
    Taken(Code),
}

/// Told what became of rows just before they commit; what it answers commits with them.
pub trait ImportLog: Send {
    /// The outcomes are in the order of the rows. Called once; whether the commit that follows succeeds, it does not learn.
    ///
    /// # Errors
    /// Whatever keeps it from noting them: the rows are not taken then.
    fn keep(&mut self, outcomes: &[RowOutcome]) -> std::io::Result<Checkpoint>;
}

/// See [`Writer::import`] and [`Writer::import_logged`].
pub(super) async fn import<DB: Dialect>(
    writer: &Writer,
    pools: &Pools<DB>,
    rows: &[ImportRow],
    mut log: Option<&mut dyn ImportLog>,
) -> Result<Committed<Vec<RowOutcome>>, StoreError> {
    for _ in 0..CODE_ATTEMPTS_MAX {
        let mut work = writer.begin(pools).await?;
        statements::lock_imports::<DB>(work.tx()).await?;
        let (outcomes, links) = sort_out::<DB>(writer, work.tx(), rows).await?;
        match statements::insert::<DB>(work.tx(), &links).await {
            Ok(()) => {}
            // Somebody made a link of the same code between our look and our insert. Look again.
            Err(error) if matches!(error, StoreError::Duplicate) || error.is_contention() => {
                work.rollback().await?;
                continue;
            }
            Err(error) => return Err(error),
        }
        for link in &links {
            writer.follow(Change::Imported(link), &mut work)?;
        }
        if let Some(log) = &mut log {
            let checkpoint = log.keep(&outcomes).map_err(StoreError::Log)?;
            statements::keep_checkpoint::<DB>(work.tx(), &checkpoint.source, &checkpoint.state).await?;
        }
        let is_followed = work.commit().await?.carried_out;
        return Ok(Committed { value: outcomes, is_followed });
    }
    Err(StoreError::CodesExhausted)
}

/// Decides for every row, and makes the links that are to be added.
async fn sort_out<DB: Dialect>(
    store: &Store,
    transaction: &mut DB::Connection,
    rows: &[ImportRow],
) -> Result<(Vec<RowOutcome>, Vec<Link>), StoreError> {
    let wanted: Vec<Code> = rows.iter().filter_map(|row| row.code.clone()).collect();
    let uncoded: Vec<&str> = rows.iter().filter(|row| row.code.is_none()).map(|row| row.target.as_str()).collect();
    let found = statements::find_many::<DB>(transaction, &wanted, Hold::No).await?;
    let mut targets_by_code: HashMap<Code, Target> = found.into_iter().map(|link| (link.code, link.target)).collect();
    let known = statements::known_targets::<DB>(transaction, &uncoded).await?;
    let mut targets: HashSet<String> = known.into_iter().collect();
    let needed = uncoded.iter().filter(|target| !targets.contains(**target)).count();
    let mut free = free_codes::<DB>(store, transaction, needed, &wanted).await?.into_iter();

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

/// `needed` generated codes that no link has and no row of this batch wants. Their numbers are taken in the transaction: if it
/// is rolled back, they are not used up.
async fn free_codes<DB: Dialect>(
    store: &Store,
    transaction: &mut DB::Connection,
    needed: usize,
    wanted: &[Code],
) -> Result<Vec<Code>, StoreError> {
    let wanted: HashSet<&Code> = wanted.iter().collect();
    let mut free: Vec<Code> = Vec::with_capacity(needed);
    while free.len() < needed {
        let missing = u64::try_from(needed - free.len()).unwrap_or(u64::MAX);
        let numbers = statements::reserve::<DB>(transaction, missing).await?;
        if numbers.end > CODES {
            return Err(StoreError::CodesExhausted);
        }
        let drawn: Vec<Code> = numbers.filter_map(|number| store.0.codes.code(number)).collect();
        let met = statements::find_many::<DB>(transaction, &drawn, Hold::No).await?;
        let met: HashSet<Code> = met.into_iter().map(|link| link.code).collect();
        free.extend(drawn.into_iter().filter(|code| !met.contains(code) && !wanted.contains(code)));
    }
    Ok(free)
}

fn link(row: &ImportRow, code: Code, now: Timestamp) -> Link {
    let created_at = row.created_at.map_or(now, whole_ms);
    Link {
        alias: row.code.is_some() && row.alias,
        code,
        target: row.target.clone(),
        created_at,
        updated_at: row.updated_at.map_or(created_at, whole_ms),
        expires_at: row.expires_at.map(whole_ms),
        banned: row.banned,
        version: row.version.unwrap_or_else(|| version_after(None, now)),
    }
}
