//! How links, addresses and moments are written on the page.

use jiff::Timestamp;
use maud::{Markup, html};

/// An address on one line: the scheme is pale, the end is cut off where there is no room, the whole is in the tooltip.
pub(super) fn target(address: &str) -> Markup {
    let split = address.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = address.split_at(split);
    html! {
        a.target.ellipsis href=(address) title=(address) rel="noreferrer nofollow" {
            span.scheme { (scheme) } (rest)
        }
    }
}

/// A day. The script writes it in the reader's time zone.
pub(super) fn day(moment: Timestamp) -> Markup {
    html! { time datetime=(moment) data-form="day" title=(utc(moment)) { (moment.strftime("%Y-%m-%d")) } }
}

/// A minute. The script writes it in the reader's time zone.
pub(super) fn minute(moment: Timestamp) -> Markup {
    html! { time datetime=(moment) { (utc(moment)) } }
}

/// A button that copies `text`; without the script it could do nothing, so it begins hidden.
pub(super) fn copy(text: &str, what: &str) -> Markup {
    html! { button.copy type="button" hidden data-copy=(text) aria-label={ "Copy " (what) } { "Copy" } }
}

/// A short address without its scheme, as people say it.
pub(super) fn spoken(short_url: &str) -> &str {
    short_url.split_once("://").map_or(short_url, |(_, rest)| rest)
}

fn utc(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
