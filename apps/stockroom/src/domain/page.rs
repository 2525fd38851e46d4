//! [`PageRequest`]: which part of a list is wanted.

/// Rows on one page when nobody says otherwise.
pub const ROWS: u32 = 20;

/// The most rows on one page.
const ROWS_MAX: u32 = 200;

/// No row beyond this one is shown: each page costs as much as all before it.
const ROWS_REACHED_MAX: u64 = 100_000;

/// Which part of a list is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    number: u32,
    size: u32,
}

/// There is no such page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageRefused {
    /// Pages begin with 1, and end somewhere.
    #[error("pages are numbered from 1, and no row beyond {ROWS_REACHED_MAX} is shown")]
    Number,
    /// Too few or too many rows.
    #[error("a page has 1 to {ROWS_MAX} rows")]
    Size,
}

impl PageRequest {
    /// The page `number` (from 1) of `size` rows.
    ///
    /// # Errors
    /// There is no such page.
    pub fn new(number: u32, size: u32) -> Result<Self, PageRefused> {
        if size == 0 || size > ROWS_MAX {
            return Err(PageRefused::Size);
        }
        if number == 0 || u64::from(number) * u64::from(size) > ROWS_REACHED_MAX {
            return Err(PageRefused::Number);
        }
        Ok(Self { number, size })
    }

    /// Page number, from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many rows a full page has.
    #[must_use]
    pub fn size(self) -> u32 {
        self.size
    }

    /// How many rows stand before it.
    #[must_use]
    pub fn skipped(self) -> i64 {
        i64::from(self.number - 1) * i64::from(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::{PageRefused, PageRequest};

    #[test]
    fn pages_begin_with_one_and_end_somewhere() {
        assert_eq!(PageRequest::new(3, 20).map(PageRequest::skipped), Ok(40));
        assert_eq!(PageRequest::new(0, 20), Err(PageRefused::Number));
        assert_eq!(PageRequest::new(5_001, 20), Err(PageRefused::Number));
        assert_eq!(PageRequest::new(1, 0), Err(PageRefused::Size));
        assert_eq!(PageRequest::new(1, 201), Err(PageRefused::Size));
    }
}
