//! The loop that sweeps the rows of a queue, page by page.

use super::source_of_truth::JobRows;
use super::sweep::{Cursor, Swept};
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::steps::SweepLease;
use std::sync::Arc;
use std::time::Duration;

/// The pause between two pages, which limits the sweep to about 5,000 rows per second.
const BETWEEN_PAGES: Duration = Duration::from_millis(100);
/// The pause after a round, for each of its pages.
const AFTER_A_PAGE: Duration = Duration::from_secs(1);
/// The longest pause after a round.
const BETWEEN_ROUNDS_MAX: Duration = Duration::from_secs(10);
/// The pause between two attempts to take the lease, and after a failed page of one row.
const LOOK: Duration = Duration::from_secs(1);
/// The lease of the sweeping process: another process takes over this long after its last call.
const LEASE_MS: u64 = 5_000;
/// The deadline of one page.
const DEADLINE: Duration = Duration::from_secs(60);

/// The steps whose failures are logged.
const SWEEP: &str = "sweep";
pub(super) const SKIPPED: &str = "skipped";

/// The sweep loop of one process. One process at a time sweeps a queue.
pub(crate) async fn keep_sweeping(rows: Arc<JobRows>) {
    // The system clock, because the pauses wait for a server and not for a job's due time.
    let clock = Clock::system();
    let caller = Token::random();
    let mut cursor = Cursor::default();
    let (mut pages, mut begins_at) = (0, clock.now());
    let mut held_at = None;
    // Over once a whole round has succeeded.
    let (failing, mut has_failed) = (&rows.failing, false);
    loop {
        let shards = rows.router.shards();
        let lease =
            rows.store.run(shards.at(0), &SweepLease { caller: caller.as_bytes().to_vec(), ms: LEASE_MS }).await;
        let is_new = match lease {
            Ok(Some(is_new)) => is_new,
            Ok(None) if guard("sql_sweep_leased") => {
                clock.sleep(LOOK).await;
                continue;
            }
            Ok(None) => false,
            Err(error) => {
                tracing::debug!(queue = %rows.topic, %error, "the lease of the sweep could not be acquired");
                clock.sleep(LOOK).await;
                continue;
            }
        };
        // A new lease: the store was flushed, or the previous sweeper has ended. Any job may be missing.
        let now = clock.now();
        if is_new {
            begins_at = now;
            if is_from_the_start(held_at.map(|held_at| now.since(held_at))) {
                (cursor, pages) = (Cursor::default(), 0);
            }
        }
        held_at = Some(now);
        if now < begins_at {
            clock.sleep(LOOK).await;
            continue;
        }
        let asked = cursor.limit;
        let is_done = match one_page(&rows, &clock, cursor).await {
            Ok(swept) => {
                cursor.advance(swept.next);
                pages += 1;
                if swept.next.is_none() {
                    begins_at = clock.now() + after_round(pages);
                    pages = 0;
                    if !std::mem::take(&mut has_failed) {
                        failing.over(SWEEP);
                        failing.over(SKIPPED);
                    }
                }
                true
            }
            Err(error) => {
                if let Some(times) = failing.line_due(SWEEP, &error) {
                    tracing::warn!(queue = %rows.topic, rows = cursor.limit, error, times, "a page of rows could not be compared with the store; its halves are tried");
                }
                has_failed = true;
                cursor = rows.halve(cursor).await;
                false
            }
        };
        clock.sleep(after_page(is_done, asked)).await;
    }
}

/// Whether the sweep begins with the first row and a full page when it gets a new lease. `since` is the time since its own last lease; if
/// that has expired meanwhile, a page took longer, for example because it timed out: with the same page again, no row behind it would
/// ever be reached. The rows before the cursor come in the next round.
fn is_from_the_start(since: Option<Duration>) -> bool {
    since.is_none_or(|since| since < Duration::from_millis(LEASE_MS)) || !guard("sql_sweep_passes_slow_pages")
}

/// The pause after a page of at most `limit` rows.
fn after_page(is_done: bool, limit: usize) -> Duration {
    match is_done {
        _ if !guard("sql_sweep_paced") => Duration::ZERO,
        true => BETWEEN_PAGES,
        false if limit > 1 => 4 * BETWEEN_PAGES,
        false => LOOK,
    }
}

/// The pause after a round of this many pages: a table that takes long to compare is compared less often.
fn after_round(pages: u32) -> Duration {
    if guard("sql_sweep_paced") { BETWEEN_ROUNDS_MAX.min(AFTER_A_PAGE * pages) } else { Duration::ZERO }
}

/// The result of one page, or why there is none.
async fn one_page(rows: &JobRows, clock: &Clock, cursor: Cursor) -> Result<Swept, String> {
    let page = async {
        if cursor.after.is_none()
            && let Err(error) = rows.restore_pause().await
        {
            tracing::debug!(queue = %rows.topic, %error, "the pause of the topic was not compared with the store");
        }
        rows.sweep(cursor).await
    };
    let page = clock.timeout(DEADLINE, page).await;
    page.map_or_else(|_| Err("it timed out".to_owned()), |page| page.map_err(|error| error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::{BETWEEN_ROUNDS_MAX, LEASE_MS, after_page, after_round, is_from_the_start};
    use crate::queue::sql::table::PAGE;
    use std::time::Duration;

    /// A page that timed out after more than the lease was tried again as a whole, forever.
    // shows: hazard F5
    #[test]
    fn sweep_goes_on_after_a_page_that_outlasted_its_lease() {
        let lease = Duration::from_millis(LEASE_MS);
        assert!(is_from_the_start(None), "another process has swept before");
        assert!(is_from_the_start(Some(lease / 2)), "the store was flushed: the lease could not have expired");
        assert!(!is_from_the_start(Some(lease)) && !is_from_the_start(Some(20 * lease)));
    }

    // shows: hazard F5
    #[test]
    fn sweep_pauses_after_each_page_and_round() {
        assert_eq!((PAGE, after_page(true, PAGE)), (500, Duration::from_millis(100)), "5,000 rows per second");
        assert!(after_page(false, PAGE) > after_page(true, PAGE), "a failing database is asked less often");
        assert!(after_page(false, 1) > after_page(false, PAGE));
        assert_eq!(after_round(1), Duration::from_secs(1));
        assert_eq!(after_round(u32::MAX), BETWEEN_ROUNDS_MAX);
    }
}
