//! Operators with the embedded store, after its process has been started again: they act on rows that the new store has never seen, and
//! report nothing that SQL does not know.

use super::desk::{Act, Desk, Fate, Kept, ON_DEAD, ON_WAITING};
use crate::sql::databases::{TestDatabase, Tested, on_each_database};
use evenkeel::Keel;
use evenkeel::queue::JobId;
use evenkeel::queue::topic::JobState as Among;
use std::time::Duration;

on_each_database! {
    operators_act_on_rows_after_a_restart_of_the_embedded_store
    operators_act_on_rows_beyond_the_horizon_after_a_restart
}

impl Desk {
    /// A process with an embedded store on these rows.
    async fn embedded<DB: Tested>(place: &TestDatabase<DB>, kept: Kept) -> Self {
        let keel = Keel::memory();
        let builder = keel.queue("agreed").retries(0).sql(&place.pool);
        let builder = if kept == Kept::RowsAlone { builder.horizon(Duration::from_secs(3_600)) } else { builder };
        let queue = builder.open().await.unwrap();
        let topic = keel.topic("agreed").await.unwrap().sql(&place.pool);
        Self { redis: None, _replica: None, queue, topic, kept }
    }

    /// The process ends, and another one begins with an empty store.
    async fn restarted<DB: Tested>(self, place: &TestDatabase<DB>) -> Self {
        let kept = self.kept;
        drop(self);
        Self::embedded(place, kept).await
    }
}

/// The operator acts right after the start, before or after the sweep has compared the rows; the process starts again, and both sides still
/// report the same.
async fn plays<DB: Tested>(place: &TestDatabase<DB>, desk: Desk, act: Act, id: JobId, is_swept: bool) -> Desk {
    let story = format!("{act:?} {:?}, swept before: {is_swept}", desk.kept);
    let desk = desk.restarted(place).await;
    if is_swept {
        desk.queue.sweep_once().await.unwrap();
    }
    let reported = desk.act(act, id).await;
    let holds = |fate: &Fate| match &reported {
        Fate::Ended(None) => matches!(fate, Fate::Ended(_) | Fate::Unknown),
        reported => fate == reported,
    };
    let fate = desk.agreed(id).await;
    assert!(holds(&fate), "{story}: {fate:?} at once, {reported:?} was reported");
    let desk = desk.restarted(place).await;
    let fate = desk.agreed(id).await;
    assert!(holds(&fate), "{story}: {fate:?} after the restart, {reported:?} was reported");
    desk.queue.sweep_once().await.unwrap();
    let fate = desk.agreed(id).await;
    assert!(holds(&fate), "{story}: {fate:?} at last, {reported:?} was reported");
    desk.topic.purge(Among::Waiting, "agreed").await.unwrap();
    desk.topic.purge(Among::Dead, "agreed").await.unwrap();
    desk
}

async fn agree<DB: Tested>(place: TestDatabase<DB>, kept: Kept) {
    let mut desk = Desk::embedded(&place, kept).await;
    for is_swept in [false, true] {
        for act in ON_WAITING {
            let id = desk.waiting().await;
            desk = plays(&place, desk, act, id, is_swept).await;
        }
        for act in ON_DEAD {
            let id = desk.dead().await;
            desk = plays(&place, desk, act, id, is_swept).await;
        }
    }
}

// shows: hazard F4c
async fn operators_act_on_rows_after_a_restart_of_the_embedded_store<DB: Tested>(place: TestDatabase<DB>) {
    agree(place, Kept::Rows).await;
}

// shows: hazard F4c
async fn operators_act_on_rows_beyond_the_horizon_after_a_restart<DB: Tested>(place: TestDatabase<DB>) {
    agree(place, Kept::RowsAlone).await;
}
