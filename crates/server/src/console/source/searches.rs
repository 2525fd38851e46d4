//! [`Searches`]: one search or check of a source at a time.

use crate::kind::TOO_MANY;
use evenkeel::clock::Clock;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};
use web::Problem;

/// How long a search waits for its turn; each takes two seconds.
const WAIT: Duration = Duration::from_secs(10);

/// Searches take turns, first come, first served. Of the viewers only one waits for a turn at a time, so their searches delay one of an operator
/// by one turn at most.
#[derive(Default)]
pub(crate) struct Searches {
    turn: Mutex<()>,
    viewers: Mutex<()>,
}

/// A search that runs.
pub(crate) struct Turn<'a> {
    _turn: MutexGuard<'a, ()>,
    _viewer: Option<MutexGuard<'a, ()>>,
}

impl Searches {
    /// Waits for the turn of a search.
    pub(crate) async fn begin(&self, is_operator: bool) -> Result<Turn<'_>, Problem> {
        let turn = async {
            let viewer = if is_operator { None } else { Some(self.viewers.lock().await) };
            Turn { _turn: self.turn.lock().await, _viewer: viewer }
        };
        let busy = |_| Problem::new(TOO_MANY, "Other searches or checks are running. Try again in a few seconds.");
        Clock::system().timeout(WAIT, turn).await.map_err(busy)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::Searches;
    use futures_util::FutureExt;

    // shows: hazard CL8
    #[tokio::test]
    async fn operator_waits_for_one_search_of_a_viewer_only() {
        let searches = Searches::default();
        let first = searches.begin(false).await.unwrap();
        let mut others: Vec<_> = (0..5).map(|_| Box::pin(searches.begin(false))).collect();
        others.iter_mut().for_each(|other| assert!(other.now_or_never().is_none()));
        let mut operator = Box::pin(searches.begin(true));
        assert!((&mut operator).now_or_never().is_none());
        drop(first);
        assert!((&mut operator).now_or_never().is_some(), "before the viewers who came first");
    }
}
