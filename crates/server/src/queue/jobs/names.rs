//! How ends, errors and cursors of jobs are named, apart from the library's names for them.

use evenkeel::queue::{End, ErrorClass, Listed, Priority};
use serde::Deserialize;
use utoipa::ToSchema;

/// The end in JSON: programs compare it, so it stays as it is.
pub(super) fn end(end: End) -> &'static str {
    match end {
        End::Done => "Done",
        End::Expired => "Expired",
        End::Discarded => "Discarded",
        End::Deleted => "Deleted",
        End::Revoked => "Revoked",
        End::RevokedAfterLeaseExpiry => "RevokedAfterLapse",
    }
}

/// The class of an error in JSON: programs compare it, so it stays as it is.
pub(super) fn class(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Failed => "failed",
        ErrorClass::Crashed => "crashed",
        ErrorClass::LeaseExpired => "lapsed",
        ErrorClass::Dead => "dead",
    }
}

/// The class of an error for people.
pub(crate) fn class_text(of: ErrorClass) -> &'static str {
    match of {
        ErrorClass::LeaseExpired => "lease expired",
        other => class(other),
    }
}

// The priorities on the command line and in the API, whose document would take a longer comment as a description.
#[derive(Clone, Copy, Debug, Deserialize, clap::ValueEnum, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Urgency)]
pub(crate) enum PriorityName {
    Urgent,
    High,
    Normal,
    Low,
}

impl From<PriorityName> for Priority {
    fn from(name: PriorityName) -> Self {
        match name {
            PriorityName::Urgent => Self::Urgent,
            PriorityName::High => Self::High,
            PriorityName::Normal => Self::Normal,
            PriorityName::Low => Self::Low,
        }
    }
}

/// Parses a cursor, `TIME:ID`.
pub(crate) fn listed(text: &str) -> Option<Listed> {
    let (score, id) = text.split_once(':')?;
    Some(Listed { score: score.parse().ok()?, id: id.parse().ok()? })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn names_in_json_do_not_change() {
        let ends = [1, 2, 3, 4, 5, 6].map(|code| end(End::from_code(code).unwrap()));
        assert_eq!(ends, ["Done", "Expired", "Discarded", "Deleted", "Revoked", "RevokedAfterLapse"]);
        let classes = [ErrorClass::Failed, ErrorClass::Crashed, ErrorClass::LeaseExpired, ErrorClass::Dead];
        assert_eq!(classes.map(class), ["failed", "crashed", "lapsed", "dead"]);
        assert_eq!(class_text(ErrorClass::LeaseExpired), "lease expired");
    }
}
