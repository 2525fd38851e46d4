//! The parts of Markdown that the rules read: table rows, code spans, links.

/// The cells of every table row, with the row's line.
pub(crate) fn rows(text: &str) -> Vec<(usize, Vec<&str>)> {
    let lines = text.lines().enumerate().filter(|(_, line)| line.starts_with('|'));
    lines.map(|(index, line)| (index + 1, line.trim_matches('|').split('|').map(str::trim).collect())).collect()
}

/// The code spans.
pub(crate) fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The targets of inline links.
pub(crate) fn links(text: &str) -> Vec<&str> {
    let starts = text.match_indices("](").map(|(at, opening)| &text[at + opening.len()..]);
    starts.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_code_and_links_are_parsed() {
        let text = "words\n| a | `b` and `c` |\n";
        assert_eq!(rows(text), [(2, vec!["a", "`b` and `c`"])]);
        assert_eq!(code("`b` and `c`"), ["b", "c"]);
        assert_eq!(links("see [one](a.md) and [two](https://b)"), ["a.md", "https://b"]);
    }
}
