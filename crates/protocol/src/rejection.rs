//! [`Listing`] and [`Rejection`]: of an answer about several parts, what could be read and what could not.

use std::fmt;

/// A part of an answer that is missing: Redis rejects its call, for example because another program uses its keys, or its record cannot be
/// read. It stops no other part.
#[derive(Clone, Debug)]
pub struct Rejection<E> {
    /// The part: the name of a topic, of a stream or of a group, or `partition 3`.
    pub part: String,
    /// Why it is missing.
    pub error: E,
}

/// Errors are compared by their texts.
impl<E: fmt::Display> PartialEq for Rejection<E> {
    fn eq(&self, other: &Self) -> bool {
        self.part == other.part && self.error.to_string() == other.error.to_string()
    }
}

impl<E: fmt::Display> Eq for Rejection<E> {}

impl<E: fmt::Display> fmt::Display for Rejection<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.part, self.error)
    }
}

/// The parts of an answer, and those that are missing.
#[derive(Clone, Debug)]
pub struct Listing<T, E> {
    /// What could be read.
    pub found: Vec<T>,
    /// What could not.
    pub rejected: Vec<Rejection<E>>,
}

impl<T, E> Default for Listing<T, E> {
    fn default() -> Self {
        Self { found: Vec::new(), rejected: Vec::new() }
    }
}

impl<T, E> Listing<T, E> {
    /// Adds a part, or its rejection.
    ///
    /// # Errors
    /// `ends` is true of an error that concerns the other parts, too, as that of a server that is unavailable does: they need not be tried.
    pub fn note(
        &mut self,
        part: impl Into<String>,
        answer: Result<T, E>,
        ends: impl FnOnce(&E) -> bool,
    ) -> Result<(), E> {
        match answer {
            Ok(found) => self.found.push(found),
            Err(error) if ends(&error) => return Err(error),
            Err(error) => self.rejected.push(Rejection { part: part.into(), error }),
        }
        Ok(())
    }

    /// All parts, for a caller that can do nothing with a part of them.
    ///
    /// # Errors
    /// That of the first part that is missing.
    pub fn all(self) -> Result<Vec<T>, E> {
        match self.rejected.into_iter().next() {
            Some(rejection) => Err(rejection.error),
            None => Ok(self.found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Listing, Rejection};

    // shows: hazard SF17
    #[test]
    fn rejection_is_listed_and_an_outage_ends_the_listing() {
        let mut listing = Listing::default();
        let ends = |error: &&str| *error == "outage";
        assert_eq!(listing.note("a", Ok(1), ends), Ok(()));
        assert_eq!(listing.note("b", Err("wrong type"), ends), Ok(()));
        assert_eq!(listing.note("c", Ok(3), ends), Ok(()));
        assert_eq!(listing.note("d", Err("outage"), ends), Err("outage"));
        assert_eq!(listing.found, [1, 3]);
        assert_eq!(listing.rejected, [Rejection { part: "b".to_owned(), error: "wrong type" }]);
        assert_eq!(listing.rejected[0].to_string(), "b: wrong type");
        assert_eq!(listing.all(), Err("wrong type"));
    }
}
