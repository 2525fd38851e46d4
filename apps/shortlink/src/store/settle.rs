//! Settling writes that were accepted before the database heard of them.

use super::dialect::Dialect;
use super::follow::Change;
use super::pools::Pools;
use super::statements::{self, Hold};
use super::{Connection, StoreError, Writer, conflicts, with_database};
use crate::domain::{Code, Conflict, Link, NotedWrite, Verdict};
use evenkeel::sql::Work;
use std::collections::HashMap;

/// A write that waits in a spool.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Which spool; no two have the same name.
    pub spool: String,
    /// Its number there. The writes of a spool are settled in the order of their numbers.
    pub sequence: u64,
    /// The write.
    pub write: NotedWrite,
    /// The write as it is kept if it cannot be done.
    pub body: String,
}

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It is in the database, or what it wanted was so already.
    Written,
    /// It had been settled before.
    Before,
    /// It cannot be done, and is kept among the conflicts.
    Conflict(Conflict),
}

impl Writer {
    /// Settles writes in one unit of work, in the order of their numbers, each once however often it is called. The answers are
    /// in the order of the writes.
    ///
    /// # Errors
    /// As [`patch`](Self::patch): nothing was settled, or (unknown) everything was; call again.
    pub async fn settle(&self, writes: &[Waiting]) -> Result<Vec<Settled>, StoreError> {
        with_database!(self, pools => self.settle_in(pools, writes).await)
    }

    /// Gives a write up that the database refuses whoever asks: it is kept among the conflicts.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub async fn give_up(&self, waiting: &Waiting, reason: &str) -> Result<Settled, StoreError> {
        let conflict = Conflict::Refused(reason.to_owned());
        with_database!(self, pools => self.give_up_in(pools, waiting, &conflict).await)?;
        Ok(Settled::Conflict(conflict))
    }

    async fn settle_in<DB: Dialect>(&self, pools: &Pools<DB>, writes: &[Waiting]) -> Result<Vec<Settled>, StoreError> {
        let mut work = self.begin(pools).await?;
        let mut last: HashMap<&str, u64> = HashMap::new();
        for waiting in writes {
            if !last.contains_key(waiting.spool.as_str()) {
                let settled = statements::settled::<DB>(work.tx(), &waiting.spool).await?;
                last.insert(&waiting.spool, settled);
            }
        }
        let codes: Vec<Code> = codes(writes);
        let held = statements::find_many::<DB>(work.tx(), &codes, Hold::Yes).await?;
        let mut links: HashMap<Code, Link> = held.into_iter().map(|link| (link.code.clone(), link)).collect();

        let mut answers = Vec::with_capacity(writes.len());
        for waiting in writes {
            if last.get(waiting.spool.as_str()).is_some_and(|last| waiting.sequence <= *last) {
                answers.push(Settled::Before);
                continue;
            }
            last.insert(&waiting.spool, waiting.sequence);
            let verdict = waiting.write.settle(links.get(&waiting.write.code));
            answers.push(self.carry_out(&mut work, waiting, verdict, &mut links).await?);
        }
        for (spool, sequence) in last {
            statements::keep_settled::<DB>(work.tx(), spool, sequence).await?;
        }
        work.commit().await?;
        Ok(answers)
    }

    async fn carry_out<DB: Dialect>(
        &self,
        work: &mut Work<DB>,
        waiting: &Waiting,
        verdict: Verdict,
        links: &mut HashMap<Code, Link>,
    ) -> Result<Settled, StoreError> {
        let code = &waiting.write.code;
        match verdict {
            Verdict::Insert(link) => {
                statements::insert::<DB>(work.tx(), std::slice::from_ref(&link)).await?;
                self.follow(Change::Made(&link), work)?;
                links.insert(code.clone(), link);
            }
            Verdict::Update { link, end_moved } => {
                statements::update::<DB>(work.tx(), &link, end_moved).await?;
                self.follow(Change::Changed { link: &link, end_moved }, work)?;
                links.insert(code.clone(), link);
            }
            Verdict::Delete => {
                statements::delete::<DB>(work.tx(), code).await?;
                if let Some(link) = links.remove(code) {
                    self.follow(Change::Deleted(&link), work)?;
                }
            }
            Verdict::Nothing => {}
            Verdict::Conflict(conflict) => {
                conflicts::keep::<DB>(work.tx(), waiting, &conflict, self.now()).await?;
                return Ok(Settled::Conflict(conflict));
            }
        }
        Ok(Settled::Written)
    }

    async fn give_up_in<DB: Dialect>(
        &self,
        pools: &Pools<DB>,
        waiting: &Waiting,
        conflict: &Conflict,
    ) -> Result<(), StoreError> {
        let mut work = self.begin(pools).await?;
        conflicts::keep::<DB>(work.tx(), waiting, conflict, self.now()).await?;
        statements::keep_settled::<DB>(work.tx(), &waiting.spool, waiting.sequence).await?;
        work.commit().await?;
        Ok(())
    }
}

/// Each once, in an order that is the same for everybody: two that settle the same links do not lock each other out.
fn codes(writes: &[Waiting]) -> Vec<Code> {
    let mut codes: Vec<Code> = writes.iter().map(|waiting| waiting.write.code.clone()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}
