//! Messages that are there more than once, and why: at least once is what was promised, so each copy must have a reason.

use super::driver::Run;
use serde::Serialize;
use std::collections::BTreeMap;

/// A process killed this long after it sent something could have recorded that.
const WRITES_DOWN_MS: u64 = 10_000;
/// A call without a server's reply is given up after this long, and this long after its return every process has
/// reconnected.
const BEFORE_MS: u64 = 3_000;
const AFTER_MS: u64 = 6_000;
/// Effects not done this long after a commit are repeated: the caller waits no longer for the fast path, and relays poll.
const LATE_MS: u64 = 1_000;

/// One message as it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// When the transaction noted it, before its commit.
    pub(super) noted_ms: u64,
    pub(super) at_ms: u64,
    /// The process that sent it.
    pub(super) carrier: u64,
}

/// Copies beyond the first, by reason.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Copies {
    pub(super) all: u64,
    /// The sender of the earlier copy was killed before it could record that.
    pub(super) after_a_kill: u64,
    /// A server was away when the one before was sent: the answer was lost, or another effect of the same work had to wait.
    pub(super) after_an_outage: u64,
    /// Neither, but more than a second passed, or passed between the transaction and the one before: the sender was slower
    /// than the relay's `unrouted_max`, which counts from the row's creation.
    pub(super) late: u64,
    pub(super) unexplained: u64,
}

impl Copies {
    /// Explains all messages, by number.
    pub(super) fn explain(sent: &BTreeMap<i64, Vec<Arrival>>, run: &Run) -> Self {
        let mut copies = Self::default();
        for messages in sent.values() {
            let mut messages = messages.clone();
            messages.sort_unstable_by_key(|copy| copy.at_ms);
            for pair in messages.windows(2) {
                copies.all += 1;
                *copies.reason(pair[0], pair[1], run) += 1;
            }
        }
        copies
    }

    fn reason(&mut self, before: Arrival, copy: Arrival, run: &Run) -> &mut u64 {
        let at = before.at_ms;
        if run.killed.get(&before.carrier).is_some_and(|died| (at..at + WRITES_DOWN_MS).contains(died)) {
            return &mut self.after_a_kill;
        }
        if run.outages.iter().any(|(from, to)| (from.saturating_sub(BEFORE_MS)..to + AFTER_MS).contains(&at)) {
            return &mut self.after_an_outage;
        }
        let is_late = copy.at_ms - at >= LATE_MS || at.saturating_sub(before.noted_ms) >= LATE_MS;
        if is_late { &mut self.late } else { &mut self.unexplained }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies that came `after` ms from one that process 7 sent at 100,000.
    fn explained(after: u64, run: &Run) -> (u64, u64, u64, u64) {
        noted(99_950, after, run)
    }

    /// The same of a message that its transaction noted at this time.
    fn noted(noted_ms: u64, after: u64, run: &Run) -> (u64, u64, u64, u64) {
        let copy = |at_ms| Arrival { noted_ms, at_ms, carrier: 7 };
        let sent = BTreeMap::from([(1, vec![copy(100_000 + after), copy(100_000)]), (2, vec![copy(5)])]);
        let copies = Copies::explain(&sent, run);
        assert_eq!(copies.all, 1);
        (copies.after_a_kill, copies.after_an_outage, copies.late, copies.unexplained)
    }

    #[test]
    fn each_duplicate_has_at_most_one_reason() {
        let quiet = Run::default();
        assert_eq!(explained(20, &quiet), (0, 0, 0, 1));
        assert_eq!(explained(2_000, &quiet), (0, 0, 1, 0));
        assert_eq!(
            noted(98_300, 346, &quiet),
            (0, 0, 1, 0),
            "it was sent after the relay's timeout had begun to run out"
        );
        let killed = |process, at| Run { killed: [(process, at)].into(), ..Run::default() };
        assert_eq!(explained(20, &killed(7, 100_010)), (1, 0, 0, 0));
        assert_eq!(explained(20, &killed(8, 100_010)), (0, 0, 0, 1), "another process was killed");
        assert_eq!(explained(20, &killed(7, 99_000)), (0, 0, 0, 1), "a dead process sends nothing");
        let away = |from, to| Run { outages: vec![(from, to)], ..Run::default() };
        assert_eq!(explained(20, &away(100_500, 101_000)), (0, 1, 0, 0));
        assert_eq!(explained(20, &away(110_500, 111_000)), (0, 0, 0, 1), "an outage long after");
    }
}
