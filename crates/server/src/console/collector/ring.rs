//! [`Ring`]: the figures of a topic over the last hour.

use evenkeel::queue::topic::TopicStats;
use std::collections::VecDeque;

/// Points of a ring.
const POINTS: usize = 360;

/// What a point has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Series {
    Done,
    Waiting,
    Late,
}

/// One point of each [`Series`].
type Point = [f32; 3];

/// The counters at a moment.
#[derive(Clone, Copy)]
struct Mark {
    at: u64,
    done: u64,
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
    /// Jobs done per second between the last two readings.
    pub(crate) done_rate: Option<f64>,
}

impl Ring {
    /// An empty ring; a point stands for `step_ms`.
    pub(crate) fn new(step_ms: u64) -> Self {
        Self { step_ms: step_ms.max(1), points: VecDeque::new(), step: 0, base: None, last: None, done_rate: None }
    }

    /// Adds a reading.
    pub(crate) fn add(&mut self, stats: &TopicStats) {
        let mark = Mark { at: stats.total.now, done: stats.total.totals.done };
        // A clock that was set back, or counters that restarted, begin anew.
        let last = self.last.filter(|last| last.at < mark.at && last.done <= mark.done);
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
        #[expect(clippy::cast_possible_truncation, reason = "a chart needs no more digits")]
        let done = self.base.map_or(f32::NAN, |base| rate(base.done, mark.done, base.at, mark.at) as f32);
        let point = [done, stats.waiting() as f32, late(stats)];
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

    fn stats(now: u64, done: u64, waiting: u64) -> TopicStats {
        let mut stats = TopicStats::default();
        (stats.total.now, stats.total.totals.done, stats.total.waiting[0]) = (now, done, waiting);
        stats
    }

    #[test]
    fn steps_without_readings_are_gaps() {
        let mut ring = Ring::new(STEP_MS);
        ring.add(&stats(100_000, 10, 1));
        ring.add(&stats(104_000, 30, 2));
        assert_eq!(ring.done_rate, Some(5.0));
        ring.add(&stats(131_000, 84, 3));
        assert_eq!(ring.values(Series::Waiting), [Some(2.0), None, None, Some(3.0)]);
        assert_eq!(ring.values(Series::Done), [None, None, None, Some(2.0)], "54 in 27 s since the reading before");
    }

    #[test]
    fn counters_that_restart_show_no_rate() {
        let mut ring = Ring::new(STEP_MS);
        ring.add(&stats(100_000, 10, 1));
        ring.add(&stats(112_000, 3, 1));
        assert_eq!((ring.done_rate, ring.values(Series::Done)), (None, vec![None, None]));
    }

    #[test]
    fn ring_keeps_an_hour() {
        let mut ring = Ring::new(STEP_MS);
        (0..500).for_each(|step| ring.add(&stats(step * STEP_MS + STEP_MS, step, step)));
        let values = ring.values(Series::Waiting);
        assert_eq!((values.len(), values[0], values[359]), (360, Some(140.0), Some(499.0)));
        ring.add(&stats(9_000_000_000, 900, 7));
        assert_eq!(ring.values(Series::Waiting).iter().flatten().count(), 1, "after a long gap");
    }
}
