//! [`List`]: a page of ids.

use crate::queue::steps::ITEMS_MAX;
use crate::queue::steps::prelude::*;
use std::ops::Bound;

/// Reads up to `limit` ids of a state, by score, then id, from a cursor.
#[derive(Clone, Copy, Debug)]
pub struct List {
    /// The state.
    pub state: State,
    /// Descending: the ids before the cursor, the last one first.
    pub newest_first: bool,
    /// The cursor: the last id of the previous page. `None`: the first page.
    pub after: Option<Listed>,
    /// The maximum number of ids, at least 1.
    pub limit: usize,
}

/// One id of a page; also the cursor for the next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Due time, deadline on the lease clock, or time of death.
    pub score: u64,
    /// The job.
    pub id: JobId,
}

impl List {
    /// The first page, the oldest ids first.
    #[must_use]
    pub fn first(state: State, limit: usize) -> Self {
        Self { state, newest_first: false, after: None, limit }
    }
}

impl Step<Shard> for List {
    type Reply = Vec<Listed>;

    fn check(&self) -> Checked {
        check::items(self.limit)?;
        if self.limit == 0 {
            return Err(QueueError::Invalid(format!("a page of no entry; request 1 to {ITEMS_MAX} entries")));
        }
        Ok(())
    }

    fn call(&self, _: &Shard) -> Call {
        let args = Args::default().number(self.state.index().into()).size(self.limit);
        let args = args.bytes(if self.newest_first { "1" } else { "" });
        let args = match self.after {
            Some(after) => args.number(after.score).bytes(after.id.0),
            None => args,
        };
        Call::function(&scripts::LIST, args)
    }

    fn reply(&self, value: Value) -> Replied<Vec<Listed>> {
        let mut fields = array(value)?.into_iter();
        let mut listed = Vec::with_capacity(fields.len() / 2);
        while let (Some(id), Some(score)) = (fields.next(), fields.next()) {
            listed.push(Listed { id: wire::job_id(&bulk(id)?)?, score: unsigned(&score)? });
        }
        Ok(listed)
    }

    fn apply(&self, state: &mut ShardState, _: u64) -> Replied<Vec<Listed>> {
        let cursor = self.after.map_or(Bound::Unbounded, |after| Bound::Excluded((after.score, after.id)));
        let listed = |(score, id): &(u64, JobId)| Listed { score: *score, id: *id };
        let index = state.index(self.state);
        Ok(if self.newest_first {
            index.range((Bound::Unbounded, cursor)).rev().take(self.limit).map(listed).collect()
        } else {
            index.range((cursor, Bound::Unbounded)).take(self.limit).map(listed).collect()
        })
    }
}
