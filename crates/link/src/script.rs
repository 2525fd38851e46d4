//! Lua as source: loaded on every epoch, called by hash.

use std::borrow::Cow;
use std::sync::OnceLock;

/// Gives every script `now_ms()`, Redis's own time in milliseconds. One line, so that line numbers in errors are off by one only.
#[cfg(not(feature = "testing"))]
const PRELUDE: &str = include_str!("scripts/prelude.lua");

/// The same function with a hand on it: while the key `{prefix}:test:now_ms` exists, time is what it holds. `{prefix}` is what
/// stands before the first colon of the first key, so that suites sharing a server each have their own clock.
#[cfg(feature = "testing")]
const PRELUDE: &str = include_str!("scripts/prelude-testing.lua");

/// One Lua script of a capability. Declare it as a `static`; `link` adds the shared prelude (time) and knows its hash.
#[derive(Debug)]
pub struct Script {
    name: &'static str,
    /// What the server must know before it starts the script, as in `allow-oom`; `None` for a script of the old kind, which
    /// Redis checks command by command.
    flags: Option<&'static str>,
    /// Functions that several scripts share, put before the source.
    shared: &'static [&'static str],
    source: &'static str,
    prepared: OnceLock<Prepared>,
}

/// What is sent to Redis.
#[derive(Debug)]
struct Prepared {
    text: String,
    sha1: String,
}

impl Script {
    /// `name` is the file name without ending (`lease-1`: the number counts the keys), `source` the file's text.
    #[must_use]
    pub const fn new(name: &'static str, source: &'static str) -> Self {
        Self::with_shared(name, &[], source)
    }

    /// Like [`new`](Self::new), for a script that begins with texts it shares with others of its capability: local functions.
    #[must_use]
    pub const fn with_shared(name: &'static str, shared: &'static [&'static str], source: &'static str) -> Self {
        Self { name, flags: None, shared, source, prepared: OnceLock::new() }
    }

    /// Like [`with_shared`](Self::with_shared), for a script that Redis checks before it starts: with `flags` empty it is
    /// refused as a whole on a server that is out of memory; `allow-oom` is for scripts that must work then; `no-writes`
    /// for those that only read.
    #[must_use]
    pub const fn with(
        name: &'static str,
        flags: &'static str,
        shared: &'static [&'static str],
        source: &'static str,
    ) -> Self {
        Self { name, flags: Some(flags), shared, source, prepared: OnceLock::new() }
    }

    /// The file name without ending.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The file's text, without the prelude and without what it shares.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Whether a server that is out of memory refuses it as a whole.
    pub(crate) fn needs_room(&self) -> bool {
        self.flags == Some("")
    }

    /// The text that is sent to Redis.
    pub(crate) fn text(&self) -> &str {
        &self.prepared().text
    }

    /// The hash Redis knows the script by.
    pub(crate) fn sha1(&self) -> &str {
        &self.prepared().sha1
    }

    fn prepared(&self) -> &Prepared {
        self.prepared.get_or_init(|| {
            let mut text = match self.flags {
                None => String::new(),
                Some("") => "#!lua\n".to_owned(),
                Some(flags) => format!("#!lua flags={flags}\n"),
            };
            text.push_str(PRELUDE);
            self.shared.iter().chain([&self.source]).for_each(|part| text.push_str(&without_removed_guard(part)));
            let sha1 = redis::Script::new(&text).get_hash().to_owned();
            Prepared { text, sha1 }
        })
    }
}

#[cfg(not(feature = "testing"))]
fn without_removed_guard(source: &str) -> Cow<'_, str> {
    source.into()
}

/// Drops the lines of the guard that `EVENKEEL_MUTANT` names; see the mutant table of the test kit.
#[cfg(feature = "testing")]
fn without_removed_guard(source: &str) -> Cow<'_, str> {
    source
        .lines()
        .filter(|line| guard_of(line).is_none_or(crate::support::guard::guard))
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// The name in a trailing `-- guard: name`.
#[cfg(feature = "testing")]
fn guard_of(line: &str) -> Option<&str> {
    line.rsplit_once("-- guard:").map(|(_, name)| name.trim())
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::{Script, guard_of, without_removed_guard};

    #[test]
    fn a_guard_is_named_at_the_end_of_its_line() {
        assert_eq!(guard_of("if a then return 0 end -- guard: fill_generation"), Some("fill_generation"));
        assert_eq!(guard_of("local a = 1 -- guards nothing"), None);
    }

    #[test]
    fn lines_of_standing_guards_stay() {
        let text = ["a", "-- guard:", "x"].join(" ");
        assert_eq!(without_removed_guard(&format!("{text}\nb")), format!("{text}\nb\n"));
    }

    #[test]
    fn the_hash_is_that_of_the_whole_text() {
        let script = Script::with_shared("one-1", &["local a = 1\n"], "return a");
        assert!(script.text().starts_with("local function now_ms()"), "{}", script.text());
        assert!(script.text().ends_with("local a = 1\nreturn a\n"), "{}", script.text());
        assert_eq!(script.sha1(), redis::Script::new(script.text()).get_hash());
    }
}
