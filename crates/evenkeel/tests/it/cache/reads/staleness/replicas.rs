//! Caches whose loaders read replicas: which loads must read the primary, and when.

use crate::cache::reads::db::{Db, DbError};
use crate::cache::reads::rig::{Rig, Rows};
use evenkeel::cache::{Freshness, Source};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LAG: Duration = Duration::from_secs(5);

on_both! {
    loader_context_requires_the_primary_after_a_write
    lagging_replica_is_not_read
    one_key_of_a_batch_sends_the_batch_to_the_primary
}

/// An entry created anew has forgotten which versions there were: a replica's answer could be older than what was served before.
async fn loader_context_requires_the_primary_after_a_write(rig: Rig) {
    let (rows, replicas) = (rows(&rig).await, Replicas::of("7"));
    assert_eq!(replicas.read(&rows, Freshness::Eventual).await, ("7".to_owned(), Some(Source::Primary)));
    replicas.write("8", true);
    rows.invalidate_at(&1, 8).await.unwrap();
    assert_eq!(replicas.read(&rows, Freshness::Eventual).await, ("8".to_owned(), Some(Source::Replica)));
    assert_eq!(replicas.read(&rows, Freshness::Eventual).await, ("8".to_owned(), None), "it was stored");
    replicas.write("9", true);
    rows.invalidate_at(&1, 9).await.unwrap();
    assert_eq!(replicas.read(&rows, Freshness::Fresh).await, ("9".to_owned(), Some(Source::Primary)));
}

/// The write is on the primary and not on the replica yet, and the old row would be stored after the invalidation.
async fn lagging_replica_is_not_read(rig: Rig) {
    let (rows, replicas) = (rows(&rig).await, Replicas::of("7"));
    replicas.read(&rows, Freshness::Eventual).await;
    replicas.write("8", false);
    rows.invalidate(&1).await.unwrap();
    assert_eq!(replicas.read(&rows, Freshness::Eventual).await, ("8".to_owned(), Some(Source::Primary)));
    rows.invalidate(&1).await.unwrap();
    replicas.follow();
    rig.advance(LAG).await;
    assert_eq!(replicas.read(&rows, Freshness::Eventual).await, ("8".to_owned(), Some(Source::Replica)));
    // With a version, the store knows by itself that the replica's answer is too old.
    replicas.write("9", false);
    rows.invalidate_at(&1, 9).await.unwrap();
    assert_eq!(replicas.read(&rows, Freshness::Eventual).await, ("8".to_owned(), Some(Source::Replica)));
    assert_eq!(replicas.read(&rows, Freshness::AtLeast(9)).await, ("9".to_owned(), Some(Source::Primary)));
    assert_eq!(replicas.read(&rows, Freshness::Eventual).await, ("9".to_owned(), None), "only that was stored");
}

async fn one_key_of_a_batch_sends_the_batch_to_the_primary(rig: Rig) {
    let (rows, db) = (rows(&rig).await, Db::with("7"));
    db.write(2, "3");
    let asked = Mutex::new(Vec::new());
    let read = |keys: Vec<u64>, source| {
        asked.lock().unwrap().push((keys.len(), source));
        db.find_many(keys)
    };
    rows.get_many_from(&[1], Freshness::Eventual, read).await.unwrap();
    rows.invalidate_at(&1, 7).await.unwrap();
    rows.get_many_from(&[1], Freshness::Eventual, read).await.unwrap();
    rows.invalidate_at(&1, 7).await.unwrap();
    rows.get_many_from(&[1, 2], Freshness::Eventual, read).await.unwrap();
    let expected = [(1, Source::Primary), (1, Source::Replica), (2, Source::Primary)];
    assert_eq!(asked.into_inner().unwrap(), expected);
}

async fn rows(rig: &Rig) -> Rows {
    rig.rows_with(|builder| builder.reads_replicas(LAG).version(|row| row.parse().unwrap())).await
}

/// Row 1 on a primary and on a replica.
#[derive(Clone)]
struct Replicas(Arc<Mutex<State>>);

struct State {
    primary: String,
    replica: String,
    asked: Option<Source>,
}

impl Replicas {
    fn of(row: &str) -> Self {
        Self(Arc::new(Mutex::new(State { primary: row.to_owned(), replica: row.to_owned(), asked: None })))
    }

    fn write(&self, row: &str, follows: bool) {
        row.clone_into(&mut self.0.lock().unwrap().primary);
        if follows {
            self.follow();
        }
    }

    fn follow(&self) {
        let mut state = self.0.lock().unwrap();
        state.replica = state.primary.clone();
    }

    /// What a reader gets, and which server its load reads.
    async fn read(&self, rows: &Rows, freshness: Freshness) -> (String, Option<Source>) {
        self.0.lock().unwrap().asked = None;
        let replicas = self.clone();
        let found = rows.get_from(&1, freshness, move |source| async move {
            let mut state = replicas.0.lock().unwrap();
            state.asked = Some(source);
            let row = if source == Source::Replica { &state.replica } else { &state.primary };
            Ok::<_, DbError>(Some(row.clone()))
        });
        let row = found.await.unwrap().value.as_deref().cloned().unwrap();
        (row, self.0.lock().unwrap().asked)
    }
}
