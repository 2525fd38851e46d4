//! [`Name`]: what a product is called.

use std::fmt;

/// The most characters of a name.
const CHARACTERS_MAX: usize = 100;

/// What a product is called: 1 to 100 characters without control characters and without blanks at its ends. Names are compared
/// byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameRefused {
    /// Nothing, or blanks only.
    #[error("a product needs a name")]
    Empty,
    /// More than 100 characters.
    #[error("the name has {0} characters, at most {CHARACTERS_MAX} are taken")]
    Long(usize),
    /// A control character, such as the end of a line.
    #[error("the name has a control character in it")]
    Control,
    /// A blank at its beginning or end.
    #[error("the name begins or ends with a blank")]
    Blank,
}

impl Name {
    /// Checks a text.
    ///
    /// # Errors
    /// It is no name; the error says why.
    pub fn parse(text: &str) -> Result<Self, NameRefused> {
        let characters = text.chars().count();
        if text.trim().is_empty() {
            return Err(NameRefused::Empty);
        }
        if characters > CHARACTERS_MAX {
            return Err(NameRefused::Long(characters));
        }
        if text.chars().any(char::is_control) {
            return Err(NameRefused::Control);
        }
        if text.trim() != text {
            return Err(NameRefused::Blank);
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Name, NameRefused};

    #[test]
    fn a_name_is_something_a_person_can_read() {
        for good in ["apples", "Äpfel, groß", "1", &"x".repeat(100)] {
            assert!(Name::parse(good).is_ok(), "{good}");
        }
        assert_eq!(Name::parse("  "), Err(NameRefused::Empty));
        assert_eq!(Name::parse(&"ä".repeat(101)), Err(NameRefused::Long(101)));
        assert_eq!(Name::parse("a\nb"), Err(NameRefused::Control));
        assert_eq!(Name::parse(" apples"), Err(NameRefused::Blank));
    }
}
