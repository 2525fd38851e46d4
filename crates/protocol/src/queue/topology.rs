//! The numbers of shards of a topic, past and present, and whether a migration is in progress.

use std::fmt;

/// A topic's numbers of shards, from the first to the latest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    counts: Vec<u16>,
    /// A migration to the latest number is in progress, and some jobs are still in the shards of the previous one.
    moving: bool,
}

impl Topology {
    /// The topology of a topic that has never grown.
    pub fn of(shards: u16) -> Self {
        Self { counts: vec![shards.max(1)], moving: false }
    }

    /// Parses an entry of the register: `1,2,4`, with a trailing `*` during a migration.
    pub fn read(entry: &str) -> Option<Self> {
        let (counts, moving) = match entry.strip_suffix('*') {
            Some(counts) => (counts, true),
            None => (entry, false),
        };
        let counts: Vec<u16> = counts.split(',').map(|count| count.parse().ok()).collect::<Option<_>>()?;
        (!counts.is_empty() && counts.len() > usize::from(moving)).then_some(Self { counts, moving })
    }

    /// The current number of shards.
    pub fn shards(&self) -> u16 {
        self.counts.last().copied().unwrap_or(1)
    }

    /// The previous number of shards during a migration.
    pub fn before(&self) -> Option<u16> {
        let last_but_one = self.counts.len().checked_sub(2)?;
        self.moving.then(|| self.counts[last_but_one])
    }

    /// Whether the topic has, or had, this number of shards.
    pub fn knows(&self, shards: u16) -> bool {
        self.counts.contains(&shards)
    }

    /// Whether it had another number of shards before, or a migration is in progress.
    pub fn has_grown(&self) -> bool {
        self.counts.len() > 1
    }

    /// Whether this is an earlier state of `other`. A topic never shrinks, and a migration that has ended does not begin again.
    pub fn is_before(&self, other: &Self) -> bool {
        let is_shorter = self.counts.len() < other.counts.len();
        let has_settled = self.counts == other.counts && self.moving && !other.moving;
        has_settled || is_shorter && self.counts.iter().all(|count| other.knows(*count))
    }

    /// The topology at the beginning of a migration to `shards`.
    pub fn grown(&self, shards: u16) -> Self {
        let mut counts = self.counts.clone();
        counts.push(shards);
        Self { counts, moving: true }
    }

    /// The topology after the migration.
    pub fn settled(&self) -> Self {
        Self { counts: self.counts.clone(), moving: false }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, count) in self.counts.iter().enumerate() {
            write!(f, "{}{count}", if at == 0 { "" } else { "," })?;
        }
        f.write_str(if self.moving { "*" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::Topology;

    // shows: hazard A4a
    #[test]
    fn earlier_states_of_a_topology_are_recognized() {
        let states = [Topology::of(2), Topology::of(2).grown(4), Topology::of(2).grown(4).settled()];
        for (at, earlier) in states.iter().enumerate() {
            for (place, later) in states.iter().enumerate() {
                assert_eq!(earlier.is_before(later), at < place, "{earlier} and {later}");
            }
        }
        assert!(Topology::of(4).is_before(&states[2]), "a program may name the latest number when it opens the topic");
        assert!(!Topology::of(8).is_before(&states[2]));
    }

    #[test]
    fn register_entry_round_trips() {
        let grown = Topology::of(1).grown(2).settled().grown(8);
        assert_eq!(grown.to_string(), "1,2,8*");
        assert_eq!((grown.shards(), grown.before()), (8, Some(2)));
        assert_eq!(Topology::read("1,2,8*"), Some(grown.clone()));
        assert_eq!(Topology::read("1,2,8"), Some(grown.settled()));
        assert_eq!(grown.settled().before(), None);
        for wrong in ["", "*", "4*", "1,x", "1,,2", "70000"] {
            assert_eq!(Topology::read(wrong), None, "{wrong}");
        }
    }
}
