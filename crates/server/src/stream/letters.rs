//! Dead letters that match, replayed or deleted together: what the command line and the console share.

use evenkeel::stream::StreamError;
use evenkeel::stream::admin::{DeadLetters, LetterFilter, LetterId, LetterPage};

/// Letters of one call.
const PAGE: usize = 500;

/// The letters that match, by partition, then oldest first.
pub(crate) struct Matching {
    pub(crate) ids: Vec<LetterId>,
    /// There are more than the limit.
    pub(crate) is_cut: bool,
}

/// A page of the letters that match. A partition that Redis rejects is an error: its letters are on no page.
pub(crate) async fn page(
    dead: &DeadLetters,
    filter: &LetterFilter,
    after: Option<LetterId>,
    limit: usize,
) -> Result<LetterPage, StreamError> {
    let page = dead.page(filter, after, limit).await?;
    match page.rejected.first() {
        Some(rejection) => Err(rejection.error.clone()),
        None => Ok(page),
    }
}

/// Up to `limit` matching letters, all of them before anything is changed: one that dies again is not among them.
pub(crate) async fn matching(dead: &DeadLetters, filter: &LetterFilter, limit: usize) -> Result<Matching, StreamError> {
    // One more, to know whether it is the last one.
    let (wanted, mut ids, mut after) = (limit.saturating_add(1), Vec::new(), None);
    while ids.len() < wanted {
        let page = page(dead, filter, after, PAGE.min(wanted - ids.len())).await?;
        ids.extend(page.letters.into_iter().map(|(id, _)| id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let is_cut = ids.len() > limit;
    ids.truncate(limit);
    Ok(Matching { ids, is_cut })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::matching;
    use crate::operations::stream_dead::{Tally, replay};
    use evenkeel::Keel;
    use evenkeel::stream::admin::LetterFilter;
    use evenkeel::stream::{Entry, OnFailure};
    use testkit::eventually;

    #[tokio::test]
    async fn letters_above_the_limit_are_announced() {
        let keel = Keel::memory();
        let orders = keel.stream::<u64>("orders").partitions(2).open().await.unwrap();
        for number in 0..4 {
            orders.append(format!("order/{number}"), &number).await.unwrap();
        }
        let consumer = orders.group("billing").per_key(OnFailure::BlockKey).retries(0);
        let consumer = consumer.handle(|_: Entry<u64>| async move { Err::<(), _>("bad feed") });
        let admin = orders.admin();
        let is_dead = || async {
            let groups = admin.groups().await.unwrap();
            (groups.first()?.dead() == 4).then_some(())
        };
        consumer.run(async { eventually("all are dead", is_dead).await.unwrap() }).await.unwrap();
        let dead = admin.dead("billing").unwrap();
        for (limit, count, is_cut) in [(3, 3, true), (4, 4, false), (5, 4, false), (usize::MAX, 4, false)] {
            let found = matching(&dead, &LetterFilter::default(), limit).await.unwrap();
            assert_eq!((found.ids.len(), found.is_cut), (count, is_cut), "{limit}");
        }
        let ids = matching(&dead, &LetterFilter::default(), 3).await.unwrap().ids;
        dead.remove(ids[0].partition, &[ids[0].id]).await.unwrap();
        let tally = Tally::of(&replay(&dead, ("orders", "billing"), &ids, true).run.await.ok().unwrap());
        assert_eq!(tally, Tally { replayed: 2, parked: 0, gone: 1 });
        assert_eq!(tally.lines(), ["2 replayed", "1 are no longer dead letters"]);
    }
}
