//! [`Id`]: a number that is a text in JSON.

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// An id: a positive number of at most 63 bits, which a `BIGINT` of every database holds.
///
/// In JSON it is a text, because JavaScript rounds numbers above 2^53: half of all such ids would become others. For the same reason a number
/// in JSON is rejected. Formats for machines have the number.
///
/// ```
/// use evenkeel::id::Id;
///
/// let id = Id::from(9_007_199_254_740_993);
/// assert_eq!(serde_json::to_string(&id)?, r#""9007199254740993""#);
/// assert!(serde_json::from_str::<Id>("9007199254740993").is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(u64);

impl Id {
    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }

    /// The number for a column of a database. `i64::MAX` for a number that does not fit, which no generator issues.
    #[must_use]
    pub fn as_i64(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }
}

impl From<u64> for Id {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl From<Id> for u64 {
    fn from(id: Id) -> Self {
        id.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Id {
    type Err = ParseIntError;

    /// As [`u64`], without a sign.
    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        // A `+` would be accepted, so two texts would be one id: this text is rejected as a number.
        let digits = if text.starts_with('+') { "+" } else { text };
        digits.parse().map(Self)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(&self.0) } else { serializer.serialize_u64(self.0) }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Text)
        } else {
            u64::deserialize(deserializer).map(Self)
        }
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = Id;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id as a text of digits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Id, E> {
        text.parse().map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::Id;

    // shows: hazard GI11
    #[test]
    fn id_crosses_json_as_text() {
        for number in [0, 1, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, u64::MAX] {
            let id = Id::from(number);
            let text = serde_json::to_string(&id).unwrap_or_default();
            assert_eq!(text, format!("\"{number}\""));
            assert_eq!(serde_json::from_str::<Id>(&text).ok(), Some(id));
            assert_eq!(id.to_string().parse::<Id>().ok(), Some(id));
        }
        for text in ["1", "1.0", "\"\"", "\"-1\"", "\"+1\"", "\"1e3\"", "\" 1\"", "\"18446744073709551616\"", "null"] {
            assert!(serde_json::from_str::<Id>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn format_for_machines_has_the_number() {
        let id = Id::from(1 << 60);
        let bytes = rmp_serde::to_vec(&id).unwrap_or_default();
        assert_eq!(bytes, rmp_serde::to_vec(&(1u64 << 60)).unwrap_or_default());
        assert_eq!(rmp_serde::from_slice::<Id>(&bytes).ok(), Some(id));
    }
}
