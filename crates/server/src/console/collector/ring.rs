//! [`Ring`]: the figures of a topic over the last hour.

use super::handlers::Handled;
use evenkeel::queue::topic::TopicStats;
use std::collections::VecDeque;

/// Points of a ring.
pub(crate) const POINTS: usize = 360;

/// What a point has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Series {
    Done,
    /// Attempts that failed, or whose worker fell silent, and that another attempt follows.
    Retried,
    Died,
    Waiting,
    Late,
    /// The mean time of the handlers that returned, in seconds.
    Handler,
}

/// One point of each [`Series`].
type Point = [f32; 6];

/// The counters at a moment.
#[derive(Clone, Copy)]
struct Mark {
    at: u64,
    done: u64,
    retried: u64,
    died: u64,
    handled: Handled,
}

/// The points of the last hour, oldest first. A step without a reading is a gap.
pub(crate) struct Ring {
    /// The time of one point, in ms.
    step_ms: u64,
    points: VecDeque<Option<Point>>,
    /// The step of the last point.
    step: u64,
    /// The last reading before the last point.
    base: Option<Mark>,
    last: Option<Mark>,
    /// The handlers that have returned since the ring began.
    handled: Handled,
    /// Jobs done per second between the last two readings.
    pub(crate) done_rate: Option<f64>,
}

impl Ring {
    /// An empty ring; a point stands for `step_ms`.
    pub(crate) fn new(step_ms: u64) -> Self {
        Self {
            step_ms: step_ms.max(1),
            points: VecDeque::new(),
            step: 0,
            base: None,
            last: None,
            handled: Handled::default(),
            done_rate: None,
        }
    }

    /// Adds a reading, and the handlers that have returned since the one before.
    pub(super) fn add(&mut self, stats: &TopicStats, handled: Handled) {
        self.handled.add(handled);
        let totals = &stats.total.totals;
        let mark = Mark {
            at: stats.total.now,
            done: totals.done,
            retried: totals.retried.saturating_add(totals.crashed),
            died: totals.died,
            handled: self.handled,
        };
        // A clock that was set back, or counters that restarted, begin anew.
        let is_later = |last: &Mark| {
            last.at < mark.at && last.done <= mark.done && last.retried <= mark.retried && last.died <= mark.died
        };
        let last = self.last.filter(is_later);
        self.done_rate = last.map(|last| rate(last.done, mark.done, last.at, mark.at));
        let step = mark.at / self.step_ms;
        if last.is_none() {
            self.base = None;
        }
        if self.points.is_empty() || step > self.step {
            let gap = step.saturating_sub(self.step + 1).min(POINTS as u64);
            if !self.points.is_empty() {
                (0..gap).for_each(|_| self.push(None));
            }
            self.push(None);
            self.base = last;
            self.step = step;
        }
        let [done, retried, died, handler] = self.base.map_or([f32::NAN; 4], |base| since(base, mark));
        let point = [done, retried, died, stats.waiting() as f32, late(stats), handler];
        if let Some(newest) = self.points.back_mut() {
            *newest = Some(point);
        }
        self.last = Some(mark);
    }

    /// The values of a series, oldest first; `None` is a gap.
    pub(crate) fn values(&self, series: Series) -> Vec<Option<f32>> {
        self.points
            .iter()
            .map(|point| point.map(|point| point[series as usize]).filter(|value| value.is_finite()))
            .collect()
    }

    fn push(&mut self, point: Option<Point>) {
        if self.points.len() == POINTS {
            self.points.pop_front();
        }
        self.points.push_back(point);
    }
}

/// What ended per second between two marks (done, retried, died), and the mean time of the handlers that returned.
fn since(base: Mark, mark: Mark) -> [f32; 4] {
    let rate = |before, after| rate(before, after, base.at, mark.at);
    let count = mark.handled.count.saturating_sub(base.handled.count);
    let seconds = mark.handled.ms.saturating_sub(base.handled.ms) as f64 / 1_000.0;
    let mean = if count == 0 { f64::NAN } else { seconds / count as f64 };
    #[expect(clippy::cast_possible_truncation, reason = "a chart needs no more digits")]
    [rate(base.done, mark.done), rate(base.retried, mark.retried), rate(base.died, mark.died), mean]
        .map(|value| value as f32)
}

/// A paused topic is late on purpose.
fn late(stats: &TopicStats) -> f32 {
    if stats.total.paused_until.is_some() {
        return 0.0;
    }
    stats.late_ms() as f32 / 1_000.0
}

fn rate(before: u64, after: u64, from_ms: u64, until_ms: u64) -> f64 {
    (after - before) as f64 * 1_000.0 / (until_ms - from_ms) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_MS: u64 = 10_000;
    const NONE: Handled = Handled { count: 0, ms: 0 };

    fn stats(now: u64, done: u64, waiting: u64) -> TopicStats {
        let mut stats = TopicStats::default();
        (stats.total.now, stats.total.totals.done, stats.total.waiting[0]) = (now, done, waiting);
        stats
    }

    #[test]
    fn steps_without_readings_are_gaps() {
        let mut ring = Ring::new(STEP_MS);
        ring.add(&stats(100_000, 10, 1), NONE);
        ring.add(&stats(104_000, 30, 2), NONE);
        assert_eq!(ring.done_rate, Some(5.0));
        ring.add(&stats(131_000, 84, 3), NONE);
        assert_eq!(ring.values(Series::Waiting), [Some(2.0), None, None, Some(3.0)]);
        assert_eq!(ring.values(Series::Done), [None, None, None, Some(2.0)], "54 in 27 s since the reading before");
    }

    #[test]
    fn counters_that_restart_show_no_rate() {
        let mut ring = Ring::new(STEP_MS);
        ring.add(&stats(100_000, 10, 1), NONE);
        ring.add(&stats(112_000, 3, 1), NONE);
        assert_eq!((ring.done_rate, ring.values(Series::Done)), (None, vec![None, None]));
    }

    #[test]
    fn ring_keeps_an_hour() {
        let mut ring = Ring::new(STEP_MS);
        (0..500).for_each(|step| ring.add(&stats(step * STEP_MS + STEP_MS, step, step), NONE));
        let values = ring.values(Series::Waiting);
        assert_eq!((values.len(), values[0], values[359]), (360, Some(140.0), Some(499.0)));
        ring.add(&stats(9_000_000_000, 900, 7), NONE);
        assert_eq!(ring.values(Series::Waiting).iter().flatten().count(), 1, "after a long gap");
    }

    // shows: hazard CL12
    #[test]
    fn retries_deaths_and_handler_times_have_values_per_step() {
        let mut ring = Ring::new(STEP_MS);
        let mut stats = stats(100_000, 10, 1);
        ring.add(&stats, NONE);
        stats.total.now = 111_000;
        let totals = &mut stats.total.totals;
        (totals.retried, totals.crashed, totals.died) = (21, 1, 11);
        ring.add(&stats, Handled { count: 3, ms: 600 });
        ring.add(&stats_at(&stats, 112_000), Handled { count: 1, ms: 1_400 });
        ring.add(&stats_at(&stats, 121_000), NONE);
        assert_eq!(ring.values(Series::Retried)[1..], [Some(22.0 / 12.0), Some(0.0)]);
        assert_eq!(ring.values(Series::Died)[1..], [Some(11.0 / 12.0), Some(0.0)]);
        assert_eq!(ring.values(Series::Handler), [None, Some(0.5), None], "no handler returned in the last step");
    }

    fn stats_at(stats: &TopicStats, now: u64) -> TopicStats {
        let mut stats = stats.clone();
        stats.total.now = now;
        stats
    }
}
