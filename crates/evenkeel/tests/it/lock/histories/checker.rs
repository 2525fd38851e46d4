//! Checks the holds of a history, independently of how it was produced.

use std::time::Instant;

/// A hold of at least this length.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub(super) name: &'static str,
    /// How much of the name's capacity it takes: `room` for an exclusive holder.
    pub(super) weight: u32,
    pub(super) room: u32,
    pub(super) fence: Option<u64>,
    /// When it was asked for, when it was granted, and when its guard was last seen not to be lost.
    pub(super) asked: Instant,
    pub(super) from: Instant,
    pub(super) until: Instant,
    /// When an operator took it away.
    pub(super) broken_at: Option<Instant>,
}

impl Hold {
    fn end(&self) -> Instant {
        self.broken_at.map_or(self.until, |broken| broken.min(self.until))
    }

    fn is_exclusive(&self) -> bool {
        self.weight == self.room
    }
}

/// A sentence for each violation.
pub(super) fn violations(holds: &[Hold]) -> Vec<String> {
    let mut names: Vec<&str> = holds.iter().map(|hold| hold.name).collect();
    names.sort_unstable();
    names.dedup();
    let of = |name: &str| -> Vec<&Hold> { holds.iter().filter(|hold| hold.name == name).collect() };
    names.iter().flat_map(|name| overlaps(name, &of(name)).into_iter().chain(fences(name, &of(name)))).collect()
}

/// More holders at one moment than the capacity.
fn overlaps(name: &str, holds: &[&Hold]) -> Vec<String> {
    let held_at = |at: Instant| -> u32 {
        holds.iter().filter(|hold| hold.from <= at && at < hold.end()).map(|hold| hold.weight).sum()
    };
    let too_many = |hold: &&&Hold| hold.from < hold.end() && held_at(hold.from) > hold.room;
    holds
        .iter()
        .filter(too_many)
        .map(|hold| format!("{name}: {} held, room for {}", held_at(hold.from), hold.room))
        .collect()
}

/// A fence that is not above the fence of a hold that was granted before this one was asked for; readers may share one.
fn fences(name: &str, holds: &[&Hold]) -> Vec<String> {
    let mut found = Vec::new();
    for later in holds {
        let Some(fence) = later.fence else { continue };
        for earlier in holds.iter().filter(|earlier| earlier.from < later.asked) {
            let Some(before) = earlier.fence else { continue };
            if fence < before || (fence == before && (later.is_exclusive() || earlier.is_exclusive())) {
                found.push(format!("{name}: fence {fence} was handed out after {before}"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Hold, violations};
    use std::time::{Duration, Instant};

    fn hold(start: Instant, (from, until): (u64, u64), weight: u32, fence: u64) -> Hold {
        let at = |ms| start + Duration::from_millis(ms);
        let (name, room, asked) = ("a", 3, at(from));
        Hold { name, weight, room, fence: Some(fence), asked, from: at(from), until: at(until), broken_at: None }
    }

    #[test]
    fn checker_finds_overlapping_holds_and_falling_fences() {
        let start = Instant::now();
        let of = |holds: &[Hold]| violations(holds).len();
        assert_eq!(of(&[hold(start, (0, 5), 3, 1), hold(start, (5, 9), 3, 2)]), 0);
        assert_eq!(of(&[hold(start, (0, 6), 3, 1), hold(start, (5, 9), 1, 2)]), 1, "a reader next to a writer");
        assert_eq!(of(&[hold(start, (0, 6), 1, 1), hold(start, (5, 9), 2, 1)]), 0, "readers share a fence");
        assert_eq!(of(&[hold(start, (0, 5), 3, 2), hold(start, (6, 9), 3, 1)]), 1, "a lower fence");
        assert_eq!(of(&[hold(start, (0, 5), 3, 2), hold(start, (6, 9), 3, 2)]), 1, "a repeated fence");
        let broken = Hold { broken_at: Some(start + Duration::from_millis(4)), ..hold(start, (0, 6), 3, 1) };
        assert_eq!(of(&[broken, hold(start, (5, 9), 3, 2)]), 0, "an operator broke the lock");
    }
}
