//! [`Tab`]: what one screen shows.

/// A tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Tab {
    /// Queues: backlog, lateness, dead letters
    Topics,
    /// Streams: lag, pending entries, dead letters
    Streams,
    /// Hit ratios, loads and shed readers of caches, from the process reports
    Caches,
    /// Held locks, from the process reports
    Locks,
    /// The processes that report
    Processes,
    /// Units of work, messages and keys in the outbox; needs --database
    Outbox,
}

impl Tab {
    /// All tabs in their order, which is that of the keys `1` to `6`. The outbox is in a database.
    pub(super) fn all(has_database: bool) -> &'static [Self] {
        const ON_REDIS: &[Tab] = &[Tab::Topics, Tab::Streams, Tab::Caches, Tab::Locks, Tab::Processes];
        const ALL: &[Tab] = &[Tab::Topics, Tab::Streams, Tab::Caches, Tab::Locks, Tab::Processes, Tab::Outbox];
        if has_database { ALL } else { ON_REDIS }
    }

    /// The name, as `--tab` takes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Topics => "topics",
            Self::Streams => "streams",
            Self::Caches => "caches",
            Self::Locks => "locks",
            Self::Processes => "processes",
            Self::Outbox => "outbox",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn names_of_tabs_are_those_of_the_option() {
        let names = Tab::all(true).iter().map(|tab| tab.to_possible_value().map(|value| value.get_name().to_owned()));
        assert!(names.eq(Tab::all(true).iter().map(|tab| Some(tab.name().to_owned()))));
        assert_eq!(Tab::all(true), Tab::value_variants());
        assert!(!Tab::all(false).contains(&Tab::Outbox));
    }
}
