//! [`PageRequest`]: a page of a list.

/// Default page size.
pub const ROWS: u32 = 20;

/// Maximum page size.
const ROWS_MAX: u32 = 200;

/// The last row that a page may show: the database reads all rows before a page.
const LAST_ROW_MAX: u64 = 100_000;

/// A page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    number: u32,
    size: u32,
}

/// The page does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPage {
    /// The number is 0 or too large.
    #[error("pages are numbered from 1, and the last row shown is {LAST_ROW_MAX}")]
    Number,
    /// The size is out of range.
    #[error("the page size must be 1 to {ROWS_MAX}")]
    Size,
}

impl PageRequest {
    /// The page `number` (from 1) with `size` rows.
    ///
    /// # Errors
    /// The number or the size is out of range.
    pub fn new(number: u32, size: u32) -> Result<Self, InvalidPage> {
        if size == 0 || size > ROWS_MAX {
            return Err(InvalidPage::Size);
        }
        if number == 0 || u64::from(number) * u64::from(size) > LAST_ROW_MAX {
            return Err(InvalidPage::Number);
        }
        Ok(Self { number, size })
    }

    /// Page number, from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        self.number
    }

    /// Page size.
    #[must_use]
    pub fn size(self) -> u32 {
        self.size
    }

    /// Number of rows before the page.
    #[must_use]
    pub fn skipped(self) -> i64 {
        i64::from(self.number - 1) * i64::from(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidPage, PageRequest};

    #[test]
    fn page_number_and_size_are_bounded() {
        assert_eq!(PageRequest::new(3, 20).map(PageRequest::skipped), Ok(40));
        assert_eq!(PageRequest::new(0, 20), Err(InvalidPage::Number));
        assert_eq!(PageRequest::new(5_001, 20), Err(InvalidPage::Number));
        assert_eq!(PageRequest::new(1, 0), Err(InvalidPage::Size));
        assert_eq!(PageRequest::new(1, 201), Err(InvalidPage::Size));
    }
}
