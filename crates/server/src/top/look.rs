//! [`Look`]: which rows of a table are shown, and in which order.

use super::keys::Change;
use crate::listing::Listing;

/// The characters of a filter.
const FILTER_MAX: usize = 60;

/// See the module.
#[derive(Debug)]
pub(super) struct Look {
    /// The first row that is shown.
    pub(super) offset: usize,
    /// The rows that fit on the screen that was drawn last.
    pub(super) page: usize,
    pub(super) filter: String,
    /// Whether keys are letters of the filter.
    pub(super) is_typing: bool,
    is_worst_first: bool,
}

impl Look {
    pub(super) fn new() -> Self {
        Self { offset: 0, page: 1, filter: String::new(), is_typing: false, is_worst_first: true }
    }

    /// The same order for another tab.
    pub(super) fn next_tab(&mut self) {
        *self = Self { is_worst_first: self.is_worst_first, ..Self::new() };
    }

    /// Acts on a key. The offset may be behind the last row; the next screen corrects it.
    pub(super) fn change(&mut self, change: Change) {
        match change {
            Change::Up => self.offset = self.offset.saturating_sub(1),
            Change::Down => self.offset = self.offset.saturating_add(1),
            Change::PageUp => self.offset = self.offset.saturating_sub(self.page),
            Change::PageDown => self.offset = self.offset.saturating_add(self.page),
            Change::First => self.offset = 0,
            Change::Last => self.offset = usize::MAX,
            Change::Sort => (self.is_worst_first, self.offset) = (!self.is_worst_first, 0),
            Change::Type => self.is_typing = true,
            Change::Letter(letter) if self.filter.chars().count() < FILTER_MAX => {
                self.filter.push(letter);
                self.offset = 0;
            }
            Change::Letter(_) => {}
            Change::Remove => drop(self.filter.pop()),
            Change::Keep => self.is_typing = false,
            Change::Clear => (self.is_typing, self.offset) = (false, 0),
        }
        if change == Change::Clear {
            self.filter.clear();
        }
    }

    /// The rows in their order, without those that the filter excludes.
    pub(super) fn rows<'a>(&self, listing: &'a Listing) -> Vec<&'a [String]> {
        let wanted = self.filter.to_lowercase();
        let has = |row: &[String]| row.iter().any(|cell| cell.to_lowercase().contains(&wanted));
        let ranks = listing.ranks.iter().copied().chain(std::iter::repeat((0, 0)));
        let rows = listing.rows.iter().map(Vec::as_slice).zip(ranks);
        let mut rows: Vec<_> = rows.filter(|(row, _)| has(row)).collect();
        if self.is_worst_first {
            rows.sort_by_key(|(_, rank)| std::cmp::Reverse(*rank));
        }
        rows.into_iter().map(|(row, _)| row).collect()
    }

    /// What is unusual about the rows; empty if nothing is.
    pub(super) fn text(&self, has_ranks: bool) -> String {
        let sorted = if has_ranks && self.is_worst_first { "  worst first (s: by name)" } else { "" };
        let sorted = if has_ranks && !self.is_worst_first { "  by name (s: worst first)" } else { sorted };
        match (self.is_typing, self.filter.is_empty()) {
            (false, true) => sorted.to_owned(),
            (true, _) => format!("{sorted}  filter: {}_ (Enter keeps it, Esc clears it)", self.filter),
            (false, false) => format!("{sorted}  filter: {}", self.filter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn names(look: &Look) -> Vec<String> {
        let rows = ["audit", "mail", "Mail/bulk"].map(|name| vec![name.to_owned(), "7".to_owned()]).to_vec();
        let ranks = vec![(0, 0), (2, 5), (3, 1)];
        let listing = Listing {
            headings: vec!["TOPIC", "DUE"],
            rows,
            ranks,
            empty: String::new(),
            notes: Vec::new(),
            rejected: Vec::new(),
            value: Value::Null,
        };
        look.rows(&listing).into_iter().map(|row| row[0].clone()).collect()
    }

    // shows: hazard PO11
    #[test]
    fn rows_are_sorted_by_trouble_or_name_and_filtered() {
        let mut look = Look::new();
        assert_eq!(names(&look), ["Mail/bulk", "mail", "audit"]);
        look.change(Change::Sort);
        assert_eq!(names(&look), ["audit", "mail", "Mail/bulk"]);
        look.change(Change::Type);
        "MAIL/".chars().for_each(|letter| look.change(Change::Letter(letter)));
        assert_eq!(names(&look), ["Mail/bulk"]);
        look.change(Change::Remove);
        look.change(Change::Keep);
        assert_eq!((names(&look).len(), look.text(true).as_str()), (2, "  by name (s: worst first)  filter: MAIL"));
        look.change(Change::Clear);
        assert_eq!(names(&look).len(), 3);
    }
}
