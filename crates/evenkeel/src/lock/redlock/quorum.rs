//! Concurrent calls to several servers, and the arithmetic of majorities.

use std::future::{Future, poll_fn};
use std::task::Poll;

/// The size of a majority: any two majorities share a server.
pub(super) const fn majority(servers: usize) -> usize {
    servers / 2 + 1
}

/// Runs all futures concurrently until `is_enough` is true or all are ready. A future that is not ready by then is `None`: its command was
/// sent, and its reply is ignored.
pub(super) async fn ask<F: Future>(
    futures: impl Iterator<Item = F>,
    is_enough: impl Fn(&[Option<F::Output>]) -> bool,
) -> Vec<Option<F::Output>> {
    let mut running: Vec<_> = futures.map(Box::pin).collect();
    let mut answers: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(move |context| {
        // Polls all futures before it returns, so that the command of each one is sent.
        for (future, answer) in running.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(output) = future.as_mut().poll(context)
            {
                *answer = Some(output);
            }
        }
        if is_enough(&answers) || answers.iter().all(Option::is_some) {
            return Poll::Ready(std::mem::take(&mut answers));
        }
        Poll::Pending
    })
    .await
}

/// The greatest value that at least `count` of these values reach; 0 if there are fewer than `count`.
pub(super) fn reached_by(count: usize, values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable_by(|left, right| right.cmp(left));
    count.checked_sub(1).and_then(|last| values.get(last).copied()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{ask, majority, reached_by};
    use std::future::{pending, ready};

    #[test]
    fn two_majorities_share_a_server() {
        for servers in 1..=15 {
            assert!(2 * majority(servers) > servers, "{servers}");
        }
        assert_eq!([3, 4, 5].map(majority), [2, 3, 3]);
    }

    #[test]
    fn majority_of_three_is_two() {
        assert_eq!(reached_by(2, [10, 30, 20].into_iter()), 20);
        assert_eq!(reached_by(3, [10, 20].into_iter()), 0);
        assert_eq!(reached_by(0, [10].into_iter()), 0);
    }

    #[tokio::test]
    async fn round_ends_once_a_majority_decided() {
        let slow: std::pin::Pin<Box<dyn Future<Output = u8>>> = Box::pin(pending());
        let futures: Vec<std::pin::Pin<Box<dyn Future<Output = u8>>>> =
            vec![slow, Box::pin(ready(1)), Box::pin(ready(2))];
        let answers = ask(futures.into_iter(), |answers| answers.iter().flatten().count() >= 2).await;
        assert_eq!(answers, [None, Some(1), Some(2)]);
    }
}
