//! How urgently a row of a list needs attention: what `evenkeel top` and the overview of the console sort by.

use crate::stream::figures::Figures;
use evenkeel::queue::topic::TopicStats;

/// The kind of trouble, the worst highest, and its size. 0: nothing is wrong.
pub(crate) type Rank = (u8, u64);

/// Of a topic: no consumer for due jobs, then dead letters, then late jobs. A paused topic is late on purpose.
pub(crate) fn of_topic(stats: &TopicStats) -> Rank {
    let total = &stats.total;
    let is_active = total.paused_until.is_none();
    if is_active && total.ready > 0 && total.workers == 0 {
        (3, total.ready)
    } else if total.dead > 0 {
        (2, total.dead)
    } else if is_active && stats.late_ms() > 0 {
        (1, stats.late_ms())
    } else {
        (0, 0)
    }
}

/// Of a stream: a group that Redis has lost, then dead letters, then unread entries that wait.
pub(crate) fn of_stream(figures: &Figures) -> Rank {
    if figures.groups.iter().any(evenkeel::stream::admin::GroupState::is_missing) {
        (3, 0)
    } else if figures.dead() > 0 {
        (2, figures.dead())
    } else {
        figures.late_ms().filter(|late| *late > 0).map_or((0, 0), |late| (1, late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: hazard PO11
    #[test]
    fn topic_without_consumers_ranks_above_dead_and_late_ones() {
        let rank = |ready, workers, dead, paused| {
            let mut stats = TopicStats::default();
            (stats.total.ready, stats.total.workers, stats.total.dead) = (ready, workers, dead);
            (stats.total.oldest_due, stats.total.now) = (Some(1), 9_000);
            stats.total.paused_until = paused;
            stats.shards = vec![stats.total.clone()];
            of_topic(&stats).0
        };
        assert_eq!([rank(5, 0, 9, None), rank(5, 1, 9, None), rank(5, 1, 0, None)], [3, 2, 1]);
        assert_eq!([rank(5, 0, 0, Some(u64::MAX)), rank(5, 0, 1, Some(u64::MAX))], [0, 2]);
    }
}
