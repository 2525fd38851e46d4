//! Fits a tab to the size of the terminal.
//!
//! Names come from Redis, where other programs may write: every line is cut and has no control characters, apart from those of the header.

use super::Tab;
use super::look::Look;
use crate::listing::Listing;
use crate::output::truncated;

/// Begins and ends the highlighted tab of the header.
const REVERSE: &str = "\x1b[7m";
const PLAIN: &str = "\x1b[0m";
/// The end of the header, where it fits.
const HINT: &str = "  q: quit  /: filter";

/// The size of a terminal.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// What is below the header.
pub(super) enum Body {
    Table { time: String, listing: Listing },
    Text(String),
}

/// The lines of the screen. They leave one row and one column of the terminal free, so that the cursor after a line neither wraps nor
/// scrolls. `look` gets the number of rows that fit, and an offset with which they are filled.
pub(super) fn screen(tabs: &[Tab], current: Tab, body: &Body, size: Size, look: &mut Look) -> Vec<String> {
    let (rows, columns) = (size.rows.saturating_sub(1).max(1), size.columns.saturating_sub(1).max(1));
    let mut lines: Vec<String> = header(tabs, current, columns).into_iter().collect();
    match body {
        Body::Text(text) => lines.extend(wrapped(text, columns)),
        Body::Table { time, listing } => {
            let about = look.text(!listing.ranks.is_empty());
            lines.extend([truncated(&format!("{time}{about}"), columns), String::new()]);
            let left = rows.saturating_sub(lines.len());
            lines.extend(table(listing, left, columns, look));
        }
    }
    lines.truncate(rows);
    lines
}

/// The tabs with their keys; none if there is only one. If they are too wide, only the current one.
fn header(tabs: &[Tab], current: Tab, columns: usize) -> Option<String> {
    let label = |(place, tab): (usize, &Tab)| (*tab == current, format!(" {} {} ", place + 1, tab.name()));
    let mut labels: Vec<(bool, String)> = tabs.iter().enumerate().map(label).collect();
    if labels.len() < 2 {
        return None;
    }
    let mut width: usize = labels.iter().map(|(_, label)| label.len()).sum();
    if width > columns {
        labels.retain(|(is_current, _)| *is_current);
        labels.iter_mut().for_each(|(_, label)| *label = truncated(label, columns));
        width = columns;
    }
    let text = |(is_current, label): &(bool, String)| {
        if *is_current { format!("{REVERSE}{label}{PLAIN}") } else { label.clone() }
    };
    let hint = if width + HINT.len() <= columns { HINT } else { "" };
    Some(labels.iter().map(text).collect::<String>() + hint)
}

/// The table and its notes in at most `rows` lines. If it has more rows, the last line says which are shown.
fn table(listing: &Listing, rows: usize, columns: usize, look: &mut Look) -> Vec<String> {
    let notes = listing.notes.iter().chain(&listing.rejected).flat_map(|note| wrapped(note, columns));
    if listing.rows.is_empty() {
        return wrapped(&listing.empty, columns).into_iter().chain(notes).collect();
    }
    let (all, notes): (_, Vec<String>) = (look.rows(listing), notes.collect());
    if all.is_empty() {
        return wrapped("no row contains the filter", columns).into_iter().chain(notes).collect();
    }
    // The widths of the columns are those of all rows, so that they stay while the user scrolls.
    let mut lines: Vec<String> = listing.table_of(&all).lines().map(|line| truncated(line, columns)).collect();
    if lines.len() + notes.len() <= rows {
        (look.offset, look.page) = (0, all.len());
        lines.extend(notes);
        return lines;
    }
    // One line is for the headings, and one for the number.
    let shown = rows.saturating_sub(notes.len() + 2);
    look.offset = look.offset.min(all.len() - shown.min(all.len()));
    look.page = shown.max(1);
    lines.drain(1..=look.offset);
    lines.truncate(1 + shown);
    lines.extend(notes);
    lines.truncate(rows.saturating_sub(1));
    let hidden = match all.len() - shown {
        1 => "1 row not shown".to_owned(),
        number => format!("{number} rows not shown"),
    };
    let text = match look.offset {
        0 => hidden,
        offset => format!("{hidden}, {offset} of them above"),
    };
    lines.push(truncated(&text, columns));
    lines
}

/// The text in lines of at most `columns` characters, broken at spaces where there are any.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let (columns, text) = (columns.max(1), truncated(text, usize::MAX));
    let (mut rest, mut lines): (Vec<char>, Vec<String>) = (text.chars().collect(), Vec::new());
    while rest.len() > columns {
        let space = rest[..=columns].iter().rposition(|character| *character == ' ').filter(|at| *at > 0);
        let tail = rest.split_off(space.map_or(columns, |at| at + 1));
        lines.push(rest.iter().collect::<String>().trim_end().to_owned());
        rest = tail;
    }
    lines.extend((!rest.is_empty()).then(|| rest.iter().collect()));
    lines
}

#[cfg(test)]
mod tests {
    use super::super::keys::Change;
    use super::*;
    use serde_json::Value;

    fn listing(names: &[&str], notes: &[&str]) -> Listing {
        Listing {
            ranks: Vec::new(),
            headings: vec!["LOCK", "FENCE"],
            rows: names.iter().map(|name| vec![(*name).to_owned(), "7".to_owned()]).collect(),
            empty: "no locks here".to_owned(),
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
            rejected: Vec::new(),
            value: Value::Null,
        }
    }

    fn lines(listing: Listing, rows: usize, columns: usize) -> Vec<String> {
        let body = Body::Table { time: "12:00".to_owned(), listing };
        screen(&[Tab::Locks], Tab::Locks, &body, Size { rows, columns }, &mut Look::new())
    }

    #[test]
    fn table_that_fits_is_shown_whole() {
        let expected = ["12:00", "", "LOCK  FENCE", "a         7", "b         7", "a note"];
        assert_eq!(lines(listing(&["a", "b"], &["a note"]), 7, 12), expected);
        assert_eq!(lines(listing(&[], &[]), 24, 9), ["12:00", "", "no locks", "here"]);
    }

    #[test]
    fn text_is_broken_at_spaces_where_there_are_any() {
        assert_eq!(wrapped("ten seconds after", 12), ["ten seconds", "after"]);
        assert_eq!(wrapped("ten seconds after", 11), ["ten seconds", "after"]);
        assert_eq!(wrapped("ten seconds after", 10), ["ten", "seconds", "after"]);
        assert_eq!(wrapped("a-word-without-spaces", 8), ["a-word-w", "ithout-s", "paces"]);
        assert_eq!(wrapped(" a", 1), ["", "a"]);
        assert_eq!((wrapped("fits", 4), wrapped("", 4)), (vec!["fits".to_owned()], Vec::new()));
    }

    #[test]
    fn last_line_counts_the_rows_that_are_not_shown() {
        let names = ["a", "b", "c", "d"];
        assert_eq!(
            lines(listing(&names, &[]), 7, 80)[2..],
            ["LOCK  FENCE", "a         7", "b         7", "2 rows not shown"]
        );
        assert_eq!(lines(listing(&names, &[]), 8, 80)[2..].len(), 5, "all of them");
        let cut = lines(listing(&names, &["a note"]), 8, 80);
        assert_eq!(cut[2..], ["LOCK  FENCE", "a         7", "b         7", "a note", "2 rows not shown"]);
        assert_eq!(lines(listing(&["a", "b"], &["a note"]), 6, 80)[3..], ["a note", "2 rows not shown"]);
        assert_eq!(lines(listing(&names, &[]), 4, 80)[2..], ["4 rows not shown"]);
    }

    /// Of 1,500 topics a terminal showed the first twenty.
    // shows: hazard PO11
    #[test]
    fn rows_scroll_to_the_last_one() {
        let names: Vec<String> = (0..1_500).map(|number| format!("topic-{number:04}")).collect();
        let body = Body::Table {
            time: "12:00".to_owned(),
            listing: listing(&names.iter().map(String::as_str).collect::<Vec<_>>(), &[]),
        };
        let mut look = Look::new();
        let mut rows = |change: Option<Change>| {
            change.into_iter().for_each(|change| look.change(change));
            let lines = screen(&[Tab::Locks], Tab::Locks, &body, Size { rows: 9, columns: 80 }, &mut look);
            (lines[3][..10].to_owned(), lines[6][..10].to_owned(), lines[7].clone())
        };
        let texts = |first: &str, last: &str, hidden: &str| (first.to_owned(), last.to_owned(), hidden.to_owned());
        assert_eq!(rows(None), texts("topic-0000", "topic-0003", "1496 rows not shown"));
        assert_eq!(rows(Some(Change::Down)), texts("topic-0001", "topic-0004", "1496 rows not shown, 1 of them above"));
        assert_eq!(rows(Some(Change::PageDown)).0, "topic-0005");
        assert_eq!(
            rows(Some(Change::Last)),
            texts("topic-1496", "topic-1499", "1496 rows not shown, 1496 of them above")
        );
        assert_eq!(rows(Some(Change::Up)).0, "topic-1495", "the offset is not behind the end");
        assert_eq!(rows(Some(Change::First)).0, "topic-0000");
    }

    #[test]
    fn no_line_is_wider_or_lower_than_the_terminal() {
        let long = listing(&["a name that is longer than the terminal is wide"; 9], &["and a note that is, too"]);
        let bodies = [Body::Text("an error as long as a sentence; retrying".to_owned())];
        let bodies = bodies.into_iter().chain([Body::Table { time: "12:00".to_owned(), listing: long }]);
        for body in bodies {
            for (rows, columns) in [(0, 0), (1, 1), (2, 5), (5, 20), (24, 40)] {
                let lines = screen(&[Tab::Locks], Tab::Locks, &body, Size { rows, columns }, &mut Look::new());
                assert!(lines.len() <= rows.saturating_sub(1).max(1), "{rows}: {lines:?}");
                let widest = lines.iter().map(|line| line.chars().count()).max();
                assert!(widest <= Some(columns.saturating_sub(1).max(1)), "{columns}: {lines:?}");
            }
        }
    }

    #[test]
    fn text_from_redis_has_no_escape_sequences() {
        let lines = lines(listing(&["\u{1b}[2J\u{9b}31m\nrow"], &["\u{7}note"]), 24, 80);
        assert_eq!(lines[2..], ["LOCK          FENCE", " [2J 31m row      7", " note"]);
        let error = Body::Text("\u{1b}]0;title\u{7}".to_owned());
        let size = Size { rows: 24, columns: 80 };
        assert_eq!(screen(&[Tab::Locks], Tab::Locks, &error, size, &mut Look::new()), [" ]0;title "]);
    }

    #[test]
    fn header_highlights_the_current_tab() {
        let tabs = [Tab::Topics, Tab::Caches];
        assert_eq!(
            header(&tabs, Tab::Caches, 40).as_deref(),
            Some(" 1 topics \u{1b}[7m 2 caches \u{1b}[0m  q: quit  /: filter")
        );
        assert_eq!(header(&tabs, Tab::Caches, 20).as_deref(), Some(" 1 topics \u{1b}[7m 2 caches \u{1b}[0m"));
        assert_eq!(header(&tabs, Tab::Caches, 19).as_deref(), Some("\u{1b}[7m 2 caches \u{1b}[0m"));
        assert_eq!(header(&tabs, Tab::Caches, 5).as_deref(), Some("\u{1b}[7m 2 c…\u{1b}[0m"));
        assert_eq!(header(&[Tab::Topics], Tab::Topics, 40), None);
    }
}
