//! Patterns of `SCAN`.

/// A `MATCH` pattern that matches only this text.
pub(crate) fn escaped(text: &str) -> String {
    let special = |letter: char| matches!(letter, '*' | '?' | '[' | ']' | '\\' | '^');
    text.chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter])).collect()
}
