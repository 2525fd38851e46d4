//! How URLs and timestamps are shown on the page.

use jiff::Timestamp;
use maud::{Markup, html};
use std::borrow::Cow;
use url::Url;

/// A URL on one line, with an ellipsis where there is no room; the tooltip has the whole of it.
pub(super) fn target(address: &str) -> Markup {
    let shown = visible(address);
    let split = shown.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = shown.split_at(split);
    html! {
        a.target.ellipsis href=(address) title=(shown) rel="noreferrer nofollow" {
            span.scheme { (scheme) } (rest)
        }
        @if let Some(host) = punycode(address) { small.host { "Host: " (host) } }
    }
}

/// The ASCII form of a host with other letters, some of which look like ASCII ones.
fn punycode(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let host = url.host_str()?;
    (host.contains("xn--") && !address.to_ascii_lowercase().contains(host)).then(|| host.to_owned())
}

/// The URL with its invisible and direction-changing characters percent-encoded, so that it cannot be mistaken for another URL.
pub(super) fn visible(address: &str) -> Cow<'_, str> {
    let is_hidden = |letter: char| {
        letter.is_control()
            || matches!(
                letter,
                '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            )
    };
    if !address.contains(is_hidden) {
        return Cow::Borrowed(address);
    }
    let mut shown = String::with_capacity(address.len() + 16);
    for letter in address.chars() {
        if is_hidden(letter) {
            let mut bytes = [0; 4];
            shown.extend(letter.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")));
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// A date. The script converts it to the browser's time zone.
pub(super) fn day(moment: Timestamp) -> Markup {
    html! { time datetime=(moment) data-form="day" title=(utc(moment)) { (moment.strftime("%Y-%m-%d")) } }
}

/// Date and minute. The script converts them to the browser's time zone.
pub(super) fn minute(moment: Timestamp) -> Markup {
    html! { time datetime=(moment) { (utc(moment)) } }
}

/// A button that copies `text`. The script unhides it, because it does nothing without the script.
pub(super) fn copy(text: &str, what: &str) -> Markup {
    html! { button.copy type="button" hidden data-copy=(text) aria-label={ "Copy " (what) } { "Copy" } }
}

/// A short URL without its scheme.
pub(super) fn without_scheme(short_url: &str) -> &str {
    short_url.split_once("://").map_or(short_url, |(_, rest)| rest)
}

fn utc(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::{punycode, target, visible};

    // shows: hazard S7
    #[test]
    fn invisible_and_direction_characters_are_percent_encoded() {
        assert_eq!(visible("https://example.com/\u{202e}gpj.exe"), "https://example.com/%E2%80%AEgpj.exe");
        assert_eq!(visible("https://example.com/\u{e9}"), "https://example.com/\u{e9}");
    }

    /// The first letter of this host is Cyrillic.
    // shows: hazard S41
    #[test]
    fn host_of_other_letters_is_shown_as_punycode() {
        assert_eq!(punycode("https://\u{430}pple.com/x").as_deref(), Some("xn--pple-43d.com"));
        assert!(target("https://\u{430}pple.com/x").into_string().contains("Host: xn--pple-43d.com"));
        for plain in ["https://apple.com/\u{430}", "https://xn--pple-43d.com/x", "no url"] {
            assert_eq!(punycode(plain), None, "{plain}");
        }
    }
}
