//! When the next request is due.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How fast requests are sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Pace {
    /// The next when the last is answered, for this long.
    Closed { ms: u64 },
    /// So many a second in all whatever the answers do, for this long: a late answer delays nothing but itself.
    Open { ms: u64, per_second: f64 },
    /// The next when the last is answered, until the list has been asked for once.
    Once,
}

/// The pace of one connection.
pub(super) struct Pacer {
    end: Option<Instant>,
    /// When the next request is due, and how far the one after it is away; none if it follows the last answer.
    schedule: Option<(Instant, Duration)>,
}

impl Pacer {
    /// The schedule of connection `lane` of `lanes`: theirs are shifted against each other.
    pub(super) fn new(pace: &Pace, start: Instant, lane: u64, lanes: u64) -> Self {
        let end = |ms: u64| Some(start + Duration::from_millis(ms));
        match *pace {
            Pace::Once => Self { end: None, schedule: None },
            Pace::Closed { ms } => Self { end: end(ms), schedule: None },
            Pace::Open { ms, per_second } => {
                let every = Duration::from_secs_f64(lanes as f64 / per_second);
                let first = start + every.mul_f64(lane as f64 / lanes as f64);
                Self { end: end(ms), schedule: Some((first, every)) }
            }
        }
    }

    /// Waits until the next request is due and says when that was; `None` at the end.
    pub(super) async fn wait(&mut self) -> Option<Instant> {
        let due = match &mut self.schedule {
            None => Instant::now(),
            Some((next, every)) => {
                let due = *next;
                *next += *every;
                due
            }
        };
        if self.end.is_some_and(|end| due >= end) {
            return None;
        }
        if due > Instant::now() {
            tokio::time::sleep_until(due.into()).await;
        }
        Some(due)
    }
}
