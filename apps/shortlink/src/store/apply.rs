//! Applying the pending writes of `--write-mode behind`.

use super::database::{Dialect, Pools};
use super::hook::Change;
use super::statements::{self, RowLock};
use super::{Connection, StoreError, Writer, conflicts, with_database};
use crate::domain::{Code, Conflict, Decision, Link, PendingWrite};
use evenkeel::sql::Work;
use std::collections::HashMap;

/// A pending write with its position in a spool.
#[derive(Clone, Debug)]
pub struct SpooledWrite {
    /// The unique name of the spool.
    pub spool: String,
    /// Its sequence in the spool. Writes are applied in this order.
    pub sequence: u64,
    /// The write.
    pub write: PendingWrite,
    /// The encoded write, for the record of a conflict.
    pub body: String,
}

/// The outcome of applying a pending write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It is in the database, or had no effect.
    Written,
    /// It was applied by an earlier call.
    Earlier,
    /// It cannot be applied, and is recorded as a conflict.
    Conflict(Conflict),
}

impl Writer {
    /// Applies writes in one unit of work, in the order of their sequences. Idempotent: a repeated call applies each write once. The
    /// outcomes are in the order of the writes.
    ///
    /// # Errors
    /// As [`patch`](Self::patch): no write was applied or, if the outcome is unknown, all were. Call again.
    pub async fn apply(&self, writes: &[SpooledWrite]) -> Result<Vec<Applied>, StoreError> {
        with_database!(self, pools => self.apply_in(pools, writes).await)
    }

    /// Records a write that the database rejects as a conflict.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub async fn give_up(&self, pending: &SpooledWrite, reason: &str) -> Result<Applied, StoreError> {
        let conflict = Conflict::Refused(reason.to_owned());
        with_database!(self, pools => self.give_up_in(pools, pending, &conflict).await)?;
        Ok(Applied::Conflict(conflict))
    }

    async fn apply_in<DB: Dialect>(
        &self,
        pools: &Pools<DB>,
        writes: &[SpooledWrite],
    ) -> Result<Vec<Applied>, StoreError> {
        let mut work = self.begin(pools).await?;
        let mut last: HashMap<&str, u64> = HashMap::new();
        for pending in writes {
            if !last.contains_key(pending.spool.as_str()) {
                let applied = statements::applied_sequence::<DB>(work.tx(), &pending.spool).await?;
                last.insert(&pending.spool, applied);
            }
        }
        let codes: Vec<Code> = codes(writes);
        let locked = statements::find_many::<DB>(work.tx(), &codes, RowLock::ForUpdate).await?;
        let mut links: HashMap<Code, Link> = locked.into_iter().map(|link| (link.code.clone(), link)).collect();

        let mut outcomes = Vec::with_capacity(writes.len());
        for pending in writes {
            if last.get(pending.spool.as_str()).is_some_and(|last| pending.sequence <= *last) {
                outcomes.push(Applied::Earlier);
                continue;
            }
            last.insert(&pending.spool, pending.sequence);
            let decision = pending.write.decide(links.get(&pending.write.code));
            outcomes.push(self.apply_decision(&mut work, pending, decision, &mut links).await?);
        }
        for (spool, sequence) in last {
            statements::store_applied_sequence::<DB>(work.tx(), spool, sequence).await?;
        }
        work.commit().await?;
        Ok(outcomes)
    }

    async fn apply_decision<DB: Dialect>(
        &self,
        work: &mut Work<DB>,
        pending: &SpooledWrite,
        decision: Decision,
        links: &mut HashMap<Code, Link>,
    ) -> Result<Applied, StoreError> {
        let code = &pending.write.code;
        match decision {
            Decision::Insert(link) => {
                statements::insert::<DB>(work.tx(), std::slice::from_ref(&link)).await?;
                self.add_effects(Change::Created(&link), work)?;
                links.insert(code.clone(), link);
            }
            Decision::Update { link, expiry_changed } => {
                statements::update::<DB>(work.tx(), &link, expiry_changed).await?;
                self.add_effects(Change::Changed { link: &link, expiry_changed }, work)?;
                links.insert(code.clone(), link);
            }
            Decision::Delete => {
                statements::delete::<DB>(work.tx(), code).await?;
                if let Some(link) = links.remove(code) {
                    self.add_effects(Change::Deleted(&link), work)?;
                }
            }
            Decision::Nothing => {}
            Decision::Conflict(conflict) => {
                conflicts::record::<DB>(work.tx(), pending, &conflict, self.now()).await?;
                return Ok(Applied::Conflict(conflict));
            }
        }
        Ok(Applied::Written)
    }

    async fn give_up_in<DB: Dialect>(
        &self,
        pools: &Pools<DB>,
        pending: &SpooledWrite,
        conflict: &Conflict,
    ) -> Result<(), StoreError> {
        let mut work = self.begin(pools).await?;
        conflicts::record::<DB>(work.tx(), pending, conflict, self.now()).await?;
        statements::store_applied_sequence::<DB>(work.tx(), &pending.spool, pending.sequence).await?;
        work.commit().await?;
        Ok(())
    }
}

/// The codes without duplicates, sorted: two instances that lock the same links do not deadlock.
fn codes(writes: &[SpooledWrite]) -> Vec<Code> {
    let mut codes: Vec<Code> = writes.iter().map(|pending| pending.write.code.clone()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}
