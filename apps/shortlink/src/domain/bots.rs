//! [`is_bot`]: tells automatic requests from those of people, by `User-Agent`.

/// Lower-case parts of the `User-Agent` of programs that follow links without a person: crawlers, previews of chat programs and mail
/// scanners, monitors, and HTTP libraries. The list is short on purpose: it is a rule that an operator can predict, and not a directory.
/// README.md documents it.
pub const BOT_MARKS: [&str; 20] = [
    "bot",
    "crawl",
    "spider",
    "slurp",
    "preview",
    "scan",
    "monitor",
    "headless",
    "lighthouse",
    "facebookexternalhit",
    "whatsapp",
    "curl/",
    "wget/",
    "python",
    "go-http-client",
    "java/",
    "libwww",
    "okhttp",
    "axios",
    "node-fetch",
];

/// For each byte the marks that begin with it, in any case, as bits. Every redirect asks, and most places begin no mark.
const MARKS_BY_FIRST: [u32; 256] = {
    let (mut marks, mut index) = ([0; 256], 0);
    while index < BOT_MARKS.len() {
        let first = BOT_MARKS[index].as_bytes()[0];
        marks[first as usize] |= 1 << index;
        marks[first.to_ascii_uppercase() as usize] |= 1 << index;
        index += 1;
    }
    marks
};

/// A maker of telephones, whose name contains a mark.
const NO_BOT: &[u8] = b"cubot";

/// Whether a request counts as automatic: its `User-Agent` is missing, empty, or contains one of [`BOT_MARKS`] in any case. `Cubot` is
/// not one of them.
#[must_use]
pub fn is_bot(agent: Option<&[u8]>) -> bool {
    let Some(agent) = agent.filter(|agent| !agent.is_empty()) else { return true };
    agent.iter().enumerate().any(|(start, first)| {
        let mut marks = MARKS_BY_FIRST[usize::from(*first)];
        while marks != 0 {
            let mark = BOT_MARKS[marks.trailing_zeros() as usize].as_bytes();
            let is_found = agent.get(start..start + mark.len()).is_some_and(|found| found.eq_ignore_ascii_case(mark));
            let end = start + mark.len();
            let name = end.checked_sub(NO_BOT.len()).and_then(|start| agent.get(start..end));
            if is_found && !name.is_some_and(|name| name.eq_ignore_ascii_case(NO_BOT)) {
                return true;
            }
            marks &= marks - 1;
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::{BOT_MARKS, is_bot};

    // shows: hazard S40
    #[test]
    fn browsers_are_people() {
        for agent in [
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
            "Mozilla/5.0 (Linux; Android 12; CUBOT X30) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36",
        ] {
            assert!(!is_bot(Some(agent.as_bytes())), "{agent}");
        }
    }

    #[test]
    fn programs_and_missing_agents_are_bots() {
        for agent in [
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
            "curl/8.14.1",
            "Mozilla/5.0 (Linux; Android 12; CUBOT X30) AppleWebKit/537.36 (compatible; Googlebot/2.1)",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/141.0.0.0 Safari/537.36",
            "python-requests/2.32",
            "",
        ] {
            assert!(is_bot(Some(agent.as_bytes())), "{agent}");
        }
        assert!(is_bot(None));
        assert!(!is_bot(Some(b"\xff\xfe")), "bytes that are no text match nothing");
    }

    #[test]
    fn every_mark_is_found_at_any_place_and_in_any_case() {
        for mark in BOT_MARKS {
            assert_eq!(mark, mark.to_ascii_lowercase());
            assert!(is_bot(Some(format!("x {}", mark.to_ascii_uppercase()).as_bytes())), "{mark}");
            assert!(is_bot(Some(mark.as_bytes())), "{mark}");
        }
    }
}
