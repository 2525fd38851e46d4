//! Numbered pages of a list, of bounded size and depth.

use super::Link;
use super::target::TARGET_BYTES_MAX;

/// The largest page size.
pub const ROWS_SHOWN_MAX: u32 = 200;

/// The deepest row of a page. A database scans the rows it skips, so an unbounded page number would make expensive queries cheap to
/// send. An export reads all rows.
pub const ROWS_REACHED_MAX: u64 = 100_000;

/// A requested page, newest links first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    search: Option<String>,
    number: u32,
    size: u32,
}

/// Why a page request is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPage {
    /// Page numbers begin at 1.
    #[error("pages are numbered from 1")]
    Zero,
    /// The size is zero or above [`ROWS_SHOWN_MAX`].
    #[error("a page has 1 to {ROWS_SHOWN_MAX} links, not {0}")]
    Size(u32),
    /// A search text that no target can contain, because it is longer than any.
    #[error("the search text has {0} bytes; the limit is {TARGET_BYTES_MAX}")]
    SearchTooLong(usize),
    /// A search text that databases cannot compare.
    #[error("the search text contains a NUL character")]
    SearchNul,
    /// The page ends below row [`ROWS_REACHED_MAX`].
    #[error("pages reach only the newest {ROWS_REACHED_MAX} links; search, or export all links")]
    TooDeep,
}

impl PageRequest {
    /// Page `number` (from 1) of `size` links each, of those whose code or target contains `search`. Case of A-Z is ignored, that of
    /// other letters is not. An empty search is no search.
    ///
    /// # Errors
    /// [`InvalidPage`]; its text is for the user.
    pub fn new(search: Option<&str>, number: u32, size: u32) -> Result<Self, InvalidPage> {
        if number == 0 {
            return Err(InvalidPage::Zero);
        }
        if size == 0 || size > ROWS_SHOWN_MAX {
            return Err(InvalidPage::Size(size));
        }
        if u64::from(number) * u64::from(size) > ROWS_REACHED_MAX {
            return Err(InvalidPage::TooDeep);
        }
        let bytes = search.map_or(0, str::len);
        if bytes > TARGET_BYTES_MAX {
            return Err(InvalidPage::SearchTooLong(bytes));
        }
        if search.is_some_and(|text| text.contains('\0')) {
            return Err(InvalidPage::SearchNul);
        }
        Ok(Self { search: search.filter(|text| !text.is_empty()).map(str::to_owned), number, size })
    }

    /// The text that code or target must contain.
    #[must_use]
    pub fn search(&self) -> Option<&str> {
        self.search.as_deref()
    }

    /// Page number, from 1.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Links per page.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Links before the page.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        u64::from(self.number - 1) * u64::from(self.size)
    }
}

/// One page of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The links, newest first.
    pub links: Vec<Link>,
    /// Number of links in the whole list, counted up to [`ROWS_REACHED_MAX`].
    pub total: u64,
    /// Whether there are more than [`ROWS_REACHED_MAX`].
    pub total_is_capped: bool,
}

impl Page {
    /// A page of a list that was counted to `total`, at most one above [`ROWS_REACHED_MAX`].
    pub(crate) fn counted(links: Vec<Link>, total: i64) -> Self {
        let total = u64::try_from(total).unwrap_or(0);
        Self { links, total: total.min(ROWS_REACHED_MAX), total_is_capped: total > ROWS_REACHED_MAX }
    }
}
