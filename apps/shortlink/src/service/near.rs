//! [`Near`]: how many links an instance keeps at hand.

/// How many links an instance keeps at hand, in front of the cache that it shares with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// None: every redirect asks the shared cache.
    Off,
    /// A usual number, if Redis tells of changes; where it does not, none, and the log says so.
    IfPossible,
    /// So many. It is an error if Redis does not tell of changes.
    Links(usize),
}

impl From<Option<usize>> for Near {
    /// What a setting says that may be left out.
    fn from(setting: Option<usize>) -> Self {
        match setting {
            None => Near::IfPossible,
            Some(0) => Near::Off,
            Some(links) => Near::Links(links),
        }
    }
}
