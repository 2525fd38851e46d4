//! [`ProductName`].

use std::fmt;

/// Maximum length of a name, in characters.
const CHARACTERS_MAX: usize = 100;

/// The name of a product: 1 to 100 characters, no control characters, no leading or trailing spaces. Compared byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProductName(String);

/// Why a text is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidName {
    /// Empty or only spaces.
    #[error("a product must have a name")]
    Empty,
    /// More than 100 characters.
    #[error("the name has {0} characters; the limit is {CHARACTERS_MAX}")]
    TooLong(usize),
    /// A control character, such as a line break.
    #[error("the name contains a control character")]
    ControlCharacter,
    /// A leading or trailing space.
    #[error("the name begins or ends with a space")]
    OuterSpace,
}

impl ProductName {
    /// Parses a name.
    ///
    /// # Errors
    /// It is not valid; the error says why.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        let characters = text.chars().count();
        if text.trim().is_empty() {
            return Err(InvalidName::Empty);
        }
        if characters > CHARACTERS_MAX {
            return Err(InvalidName::TooLong(characters));
        }
        if text.chars().any(char::is_control) {
            return Err(InvalidName::ControlCharacter);
        }
        if text.trim() != text {
            return Err(InvalidName::OuterSpace);
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProductName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidName, ProductName};

    #[test]
    fn name_is_validated() {
        for good in ["apples", "Äpfel, groß", "1", &"x".repeat(100)] {
            assert!(ProductName::parse(good).is_ok(), "{good}");
        }
        assert_eq!(ProductName::parse("  "), Err(InvalidName::Empty));
        assert_eq!(ProductName::parse(&"ä".repeat(101)), Err(InvalidName::TooLong(101)));
        assert_eq!(ProductName::parse("a\nb"), Err(InvalidName::ControlCharacter));
        assert_eq!(ProductName::parse(" apples"), Err(InvalidName::OuterSpace));
    }
}
