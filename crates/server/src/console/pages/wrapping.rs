//! [`wrapping`]: where a name, a key or a line of code may be broken.

use maud::{Markup, html};

/// A browser does not wrap after these by itself.
const SEPARATORS: &str = "_.:,;=@&+|";
/// Characters of a word that stays whole. A longer one, such as an id, may be broken anywhere.
const WORD_MAX: usize = 20;

/// A text that wraps between its words, also where they are separated by characters at which a browser does not wrap by itself, as in
/// `customer_notifications` and `a::b`.
pub(super) fn wrapping(text: &str) -> Markup {
    html! { @for (index, piece) in pieces(text).into_iter().enumerate() { @if index > 0 { wbr; } (piece) } }
}

/// The pieces between which the text may wrap, in addition to spaces, hyphens and slashes.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut begin, mut word, mut last) = (Vec::new(), 0, 0, ' ');
    for (at, letter) in text.char_indices() {
        let is_in_number = letter.is_ascii_digit() && matches!(last, '.' | ',' | ':');
        let is_separated =
            SEPARATORS.contains(last) && !SEPARATORS.contains(letter) && !is_in_number && !letter.is_whitespace();
        word = if letter.is_whitespace() || matches!(last, '-' | '/') { 0 } else { word };
        if is_separated || (word == WORD_MAX && letter.is_alphanumeric()) {
            pieces.push(&text[begin..at]);
            (begin, word) = (at, 0);
        }
        word += usize::from(!letter.is_whitespace());
        last = letter;
    }
    pieces.push(&text[begin..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::{pieces, wrapping};

    // shows: hazard CL22
    #[test]
    fn names_wrap_between_their_words() {
        assert_eq!(pieces("customer_notifications"), ["customer_", "notifications"]);
        assert_eq!(
            pieces("KeelBuilder::process_reports, eu-1.compute"),
            ["KeelBuilder::", "process_", "reports, eu-1.", "compute"]
        );
        assert_eq!(pieces("{\"to\":\"a@b.c\"}"), ["{\"to\":", "\"a@", "b.", "c\"}"]);
        assert_eq!(pieces("stock/42 at 10:41, 1,204.5"), ["stock/42 at 10:41, 1,204.5"]);
        assert_eq!(pieces(""), [""]);
    }

    #[test]
    fn long_words_wrap_after_twenty_characters() {
        let long = "\u{fc}".repeat(45);
        assert_eq!(pieces(&long).iter().map(|piece| piece.chars().count()).collect::<Vec<_>>(), [20, 20, 5]);
        assert_eq!(pieces("internationalization-internationalization").len(), 1);
        assert_eq!(wrapping("a_<b").into_string(), "a_<wbr>&lt;b");
        assert_eq!(wrapping("a_b").into_string(), "a_<wbr>b");
    }
}
