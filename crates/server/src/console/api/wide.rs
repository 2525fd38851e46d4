//! [`Wide`]: a 64-bit number, which travels as a string: programs that read numbers as floating point would change it.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use utoipa::ToSchema;

/// A number of 64 bits. It is written as a string, and read from a string or a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(value_type = String, pattern = "^([0-9]{1,19}|1[0-7][0-9]{18}|18446744073709551615)$", example = "1700000000000")]
pub(super) struct Wide(pub(super) u64);

impl From<u64> for Wide {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl From<usize> for Wide {
    fn from(number: usize) -> Self {
        Self(u64::try_from(number).unwrap_or(u64::MAX))
    }
}

impl Serialize for Wide {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Wide {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Wide;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number from 0 to 18446744073709551615, as a string or a number")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Wide, E> {
                Ok(Wide(number))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Wide, E> {
                let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
                let number = text.parse().ok().filter(|_| is_plain);
                number.map(Wide).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Number)
    }
}

#[cfg(test)]
mod tests {
    use super::Wide;

    #[test]
    fn number_of_64_bits_keeps_its_digits() {
        let read = |text: &str| serde_json::from_str::<Wide>(text).ok();
        assert_eq!(read("\"18446744073709551615\""), Some(Wide(u64::MAX)));
        assert_eq!(read("9007199254740993"), Some(Wide(9_007_199_254_740_993)));
        assert_eq!(serde_json::to_string(&Wide(u64::MAX)).ok().as_deref(), Some("\"18446744073709551615\""));
        for wrong in ["\"\"", "\"+1\"", "\"18446744073709551616\"", "-1", "1.5", "null", "\" 1\""] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
