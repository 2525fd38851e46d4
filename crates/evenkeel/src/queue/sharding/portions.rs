//! The calls of one round of a routed call: at most one portion of items each, of which a rejected one stops no other.

use super::shards::Shards;
use evenkeel_link::support::Tried;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::steps::{ITEMS_MAX, Shard};
use futures_util::future::join_all;
use std::collections::BTreeMap;

/// The outcomes of the calls of a round, each with the places of its items.
pub(super) type Portions<T> = Vec<(Vec<usize>, Result<T, QueueError>)>;

/// The answers to a call so far, by the place of their items.
pub(super) struct Answers<A> {
    pub(super) found: Vec<Option<A>>,
    /// Whether a shard has rejected the item: what follows would need its answer.
    rejected: Vec<bool>,
}

impl<A> Answers<A> {
    pub(super) fn of<I>(items: &[I]) -> Self {
        Self { found: items.iter().map(|_| None).collect(), rejected: vec![false; items.len()] }
    }

    /// The items that no shard has been found to have.
    pub(super) fn unanswered(&self, not_here: &impl Fn(&A) -> bool) -> Vec<usize> {
        let is_open = |place: &usize| !self.rejected[*place] && self.found[*place].as_ref().is_none_or(not_here);
        (0..self.found.len()).filter(is_open).collect()
    }

    /// Notes the answers, and which items were rejected.
    pub(super) fn note(&mut self, asked: Portions<Vec<A>>, tried: &mut Tried<QueueError>) -> Result<(), QueueError> {
        for (places, answered) in asked {
            match tried.note(answered)? {
                Some(answered) => {
                    places.into_iter().zip(answered).for_each(|(place, answer)| self.found[place] = Some(answer));
                }
                None => self.reject(places),
            }
        }
        Ok(())
    }

    /// The places whose batches were delivered. In the others the job may be on its way, which is not known.
    pub(super) fn delivered(
        &mut self,
        carried: Portions<()>,
        tried: &mut Tried<QueueError>,
    ) -> Result<Vec<usize>, QueueError> {
        let mut left = Vec::new();
        for (places, carried) in carried {
            match tried.note(carried)? {
                Some(()) => left.extend(places),
                None => self.reject(places),
            }
        }
        Ok(left)
    }

    fn reject(&mut self, places: Vec<usize>) {
        for place in places {
            self.rejected[place] = true;
            self.found[place] = None;
        }
    }
}

/// Sends the items at `places` to their shards: all shards concurrently, at most [`ITEMS_MAX`] items in a call. A call that is rejected
/// stops no other; an outage ends those to its shard.
pub(super) async fn ask_each<I, A, F>(
    shards: &Shards,
    items: &[I],
    places: Vec<usize>,
    shard_of: impl Fn(&I) -> u16,
    ask: &impl Fn(Shard, Vec<I>) -> F,
) -> Portions<Vec<A>>
where
    I: Clone,
    F: Future<Output = Result<Vec<A>, QueueError>>,
{
    let mut shares: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    places.into_iter().for_each(|place| shares.entry(shard_of(&items[place])).or_default().push(place));
    let calls = shares.into_iter().map(|(number, places)| async move {
        let mut asked: Portions<Vec<A>> = Vec::new();
        for part in places.chunks(ITEMS_MAX) {
            let sent = part.iter().map(|place| items[*place].clone()).collect();
            let answered = ask(shards.at(number).clone(), sent).await;
            let is_outage = answered.as_ref().is_err_and(QueueError::is_retryable);
            asked.push((part.to_vec(), answered));
            if is_outage {
                break;
            }
        }
        asked
    });
    join_all(calls).await.into_iter().flatten().collect()
}
