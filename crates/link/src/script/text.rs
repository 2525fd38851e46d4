//! The texts of scripts and libraries.

use super::{Library, Script};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Defines `now_ms(key)`, Redis's time in milliseconds, for every step.
#[cfg(not(feature = "testing"))]
const PRELUDE: &str = include_str!("prelude.lua");

/// The same function, controlled by tests: while the key `{prefix}:test:now_ms` exists, its value is the time. `{prefix}` is the
/// text before the first colon of the given key, so that suites on one server have separate clocks.
#[cfg(feature = "testing")]
const PRELUDE: &str = include_str!("prelude-testing.lua");

/// How many characters of its hash the name of a library has.
const HASH_CHARS: usize = 16;

/// The text of a step that is a script.
pub(super) fn of_script(script: &Script) -> String {
    let mut text = match script.flags {
        None => String::new(),
        Some("") => "#!lua\n".to_owned(),
        Some(flags) => format!("#!lua flags={flags}\n"),
    };
    text.push_str(PRELUDE);
    script.parts.iter().for_each(|part| text.push_str(&without_removed_guard(part)));
    let source = without_removed_guard(script.source);
    if script.library.is_some() {
        _ = write!(text, "local function step(KEYS, ARGV)\n{source}\nend\nreturn step(KEYS, ARGV)\n");
    } else {
        text.push_str(&source);
    }
    text
}

/// The name of a library, its text, and the names of its functions.
pub(super) fn of_library(library: &Library) -> (String, String, Vec<String>) {
    let mut body = PRELUDE.to_owned();
    library.parts.iter().for_each(|part| body.push_str(&without_removed_guard(part)));
    let sources: Vec<_> = library.steps.iter().map(|step| without_removed_guard(step.source)).collect();
    let hashed: String = [Cow::from(&body)].iter().chain(&sources).map(|part| &**part).collect();
    let hash = redis::Script::new(&hashed).get_hash()[..HASH_CHARS].to_owned();
    let name = format!("evenkeel_{}_{hash}", library.name);
    let mut text = format!("#!lua name={name}\n{body}");
    let mut functions = Vec::with_capacity(sources.len());
    for (step, source) in library.steps.iter().zip(&sources) {
        let function = format!("{name}_{}", function_of(step.name));
        let flags = step.flags.filter(|flags| !flags.is_empty()).map(|flags| format!("'{flags}'")).unwrap_or_default();
        _ = write!(
            text,
            "redis.register_function{{ function_name = '{function}', flags = {{ {flags} }}, callback = function(KEYS, ARGV)\n{source}\nend }}\n"
        );
        functions.push(function);
    }
    (name, text, functions)
}

/// The name of a step within its library: that of its file, without the number of keys.
fn function_of(name: &str) -> String {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-').replace('-', "_")
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
    use super::*;

    const PARTS: &[&str] = &["local a = 1\n", "local b = 2\n"];
    static SUMS: Library = Library::new("sums", PARTS, &[&ADD, &TWO_THIRDS]);
    static ADD: Script = Script::step(&SUMS, "add-1", "", PARTS, "return a + b");
    static TWO_THIRDS: Script = Script::step(&SUMS, "two-thirds-3", "no-writes", &[], "return b / 3");

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
    fn script_has_prelude_parts_and_its_source_as_a_function() {
        let text = of_script(&ADD);
        assert!(text.starts_with("#!lua\nlocal function now_ms("), "{text}");
        assert!(text.contains("local a = 1\nlocal b = 2\nlocal function step(KEYS, ARGV)\nreturn a + b\n"), "{text}");
        assert!(of_script(&Script::new("one-1", "return 1")).ends_with("end\nreturn 1\n"));
    }

    #[test]
    fn library_and_functions_are_named_by_the_hash_of_the_text() {
        let (name, text, functions) = of_library(&SUMS);
        assert_eq!(text.lines().next(), Some(&*format!("#!lua name={name}")));
        assert_eq!((name.len(), &name[..14]), (14 + HASH_CHARS, "evenkeel_sums_"));
        assert_eq!(functions, [format!("{name}_add"), format!("{name}_two_thirds")]);
        assert!(text.contains("flags = { 'no-writes' }"), "{text}");
        let other = Library::new("sums", &["local a = 2\n"], SUMS.steps);
        assert_ne!(of_library(&other).2, functions, "another text, other names");
    }
}
