//! Lists come in numbered pages, of bounded size and depth.

use super::Link;

/// The largest page.
pub const ROWS_SHOWN_MAX: u32 = 200;

/// The deepest row a page may reach. A database walks over what it skips, so an unbounded page number is a cheap way to make it
/// work hard. Whoever needs all rows exports them.
pub const ROWS_REACHED_MAX: u64 = 100_000;

/// Which part of the list is wanted, newest links first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    search: Option<String>,
    number: u32,
    size: u32,
}

/// Why there is no such page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageRefused {
    /// Page numbers begin at 1.
    #[error("pages are numbered from 1")]
    Zero,
    /// The size is zero or above [`ROWS_SHOWN_MAX`].
    #[error("a page has 1 to {ROWS_SHOWN_MAX} links, not {0}")]
    Size(u32),
    /// The page ends below row [`ROWS_REACHED_MAX`].
    #[error("pages reach the newest {ROWS_REACHED_MAX} links only; search, or export all")]
    TooDeep,
}

impl PageRequest {
    /// Page `number` (from 1) of `size` links each, of those whose code or target contains `search` (letters A-Z match either
    /// case; other letters may or may not, as the database has it). An empty search is no search.
    ///
    /// # Errors
    /// [`PageRefused`]: tell the sentence to who asked.
    pub fn new(search: Option<&str>, number: u32, size: u32) -> Result<Self, PageRefused> {
        if number == 0 {
            return Err(PageRefused::Zero);
        }
        if size == 0 || size > ROWS_SHOWN_MAX {
            return Err(PageRefused::Size(size));
        }
        if u64::from(number) * u64::from(size) > ROWS_REACHED_MAX {
            return Err(PageRefused::TooDeep);
        }
        Ok(Self { search: search.filter(|text| !text.is_empty()).map(str::to_owned), number, size })
    }

    /// What code or target shall contain.
    #[must_use]
    pub fn search(&self) -> Option<&str> {
        self.search.as_deref()
    }

    /// Page number, from 1.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// How many links a page has.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// How many links come before the page.
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
    /// How many links the whole list has, counted no further than [`ROWS_REACHED_MAX`].
    pub total: u64,
    /// Whether there are more than [`ROWS_REACHED_MAX`].
    pub total_is_capped: bool,
}

impl Page {
    /// A page of a list that was counted to `total`, no further than one above [`ROWS_REACHED_MAX`].
    pub(crate) fn counted(links: Vec<Link>, total: i64) -> Self {
        let total = u64::try_from(total).unwrap_or(0);
        Self { links, total: total.min(ROWS_REACHED_MAX), total_is_capped: total > ROWS_REACHED_MAX }
    }
}
