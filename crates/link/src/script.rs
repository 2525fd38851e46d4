//! Lua scripts: loaded on every epoch, called by hash.

use std::borrow::Cow;
use std::sync::OnceLock;

/// Defines `now_ms()`, Redis's time in milliseconds, for every script. One line, so that line numbers in errors are off by one only.
#[cfg(not(feature = "testing"))]
const PRELUDE: &str = include_str!("scripts/prelude.lua");

/// The same function, controlled by tests: while the key `{prefix}:test:now_ms` exists, its value is the time. `{prefix}` is the
/// text before the first colon of the first key, so that suites on one server have separate clocks.
#[cfg(feature = "testing")]
const PRELUDE: &str = include_str!("scripts/prelude-testing.lua");

/// One Lua script of a capability. Declare it as a `static`; the link adds the shared prelude (time) and computes the hash.
#[derive(Debug)]
pub struct Script {
    name: &'static str,
    /// The flags of the script's shebang line, such as `allow-oom`; `None` for a script without a shebang line, which
    /// Redis checks command by command.
    flags: Option<&'static str>,
    /// Functions that several scripts share, prepended to the source.
    shared: &'static [&'static str],
    source: &'static str,
    prepared: OnceLock<Prepared>,
}

/// The text that is sent to Redis, and its hash.
#[derive(Debug)]
struct Prepared {
    text: String,
    sha1: String,
}

impl Script {
    /// `name` is the file name without its extension (`lease-1`: the number counts the keys), `source` the file's text.
    #[must_use]
    pub const fn new(name: &'static str, source: &'static str) -> Self {
        Self::with_shared(name, &[], source)
    }

    /// Like [`new`](Self::new), for a script that shares local functions with others of its capability; they are prepended.
    #[must_use]
    pub const fn with_shared(name: &'static str, shared: &'static [&'static str], source: &'static str) -> Self {
        Self { name, flags: None, shared, source, prepared: OnceLock::new() }
    }

    /// Like [`with_shared`](Self::with_shared), for a script that Redis checks before it starts: with empty `flags` a server that is
    /// out of memory rejects it as a whole; `allow-oom` is for scripts that must work then; `no-writes`
    /// for scripts that only read.
    #[must_use]
    pub const fn with(
        name: &'static str,
        flags: &'static str,
        shared: &'static [&'static str],
        source: &'static str,
    ) -> Self {
        Self { name, flags: Some(flags), shared, source, prepared: OnceLock::new() }
    }

    /// The file name without its extension.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The file's text, without the prelude and the shared functions.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Whether a server that is out of memory rejects it as a whole.
    pub(crate) fn needs_room(&self) -> bool {
        self.flags == Some("")
    }

    /// The text that is sent to Redis.
    pub(crate) fn text(&self) -> &str {
        &self.prepared().text
    }

    /// The hash by which Redis identifies the script.
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
    fn guard_is_named_at_the_end_of_its_line() {
        assert_eq!(guard_of("if a then return 0 end -- guard: fill_generation"), Some("fill_generation"));
        assert_eq!(guard_of("local a = 1 -- guards nothing"), None);
    }

    #[test]
    fn lines_of_other_guards_are_kept() {
        let text = ["a", "-- guard:", "x"].join(" ");
        assert_eq!(without_removed_guard(&format!("{text}\nb")), format!("{text}\nb\n"));
    }

    #[test]
    fn script_hash_covers_the_whole_text() {
        let script = Script::with_shared("one-1", &["local a = 1\n"], "return a");
        assert!(script.text().starts_with("local function now_ms()"), "{}", script.text());
        assert!(script.text().ends_with("local a = 1\nreturn a\n"), "{}", script.text());
        assert_eq!(script.sha1(), redis::Script::new(script.text()).get_hash());
    }
}
