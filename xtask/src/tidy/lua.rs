//! Each Lua script documents its keys, arguments, replies and cost, and keeps the rules for scripts.

use super::{Finding, Rule, Tree};
use crate::tidy::tree::File;

const LINES_MAX: usize = 40;
/// Commands whose cost grows with the whole keyspace.
const UNBOUNDED: &[&str] = &["'KEYS'", "'SCAN'", "'FLUSHALL'", "'FLUSHDB'", "'RANDOMKEY'"];
/// Clocks other than the prelude's `now_ms()`.
const CLOCKS: &[&str] = &["'TIME'", "os.time", "os.clock"];

pub(crate) const RULE: Rule = Rule {
    name: "lua",
    requires: "the name of a script ends in its number of keys; its header documents KEYS, ARGV, Replies and Cost; it has at most 40 lines; it reads time with now_ms()",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let scripts = tree.files().iter().filter(|file| file.is_script());
    scripts.flat_map(check_script).collect()
}

fn check_script(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |line: usize, what: String| findings.push(Finding::new(&file.path, line, what));
    let header: String = file.text.lines().take_while(|line| line.starts_with("--")).collect::<Vec<_>>().join("\n");
    for part in ["KEYS", "ARGV", "Replies", "Cost"] {
        if !header.contains(part) {
            find(1, format!("the header does not document `{part}`"));
        }
    }
    let code: Vec<(usize, &str)> = file.lines().map(|(line, text)| (line, without_comment(text))).collect();
    let named: Option<usize> =
        file.name().trim_end_matches(".lua").rsplit_once('-').and_then(|(_, count)| count.parse().ok());
    match named {
        None => find(1, "the file name does not end in the number of keys (`name-1.lua`)".to_owned()),
        Some(named) => {
            // If only the shared part of a script uses the keys, the header lists them.
            let used = code.iter().filter_map(|(_, text)| highest(text, "KEYS[")).max();
            let used = used.or_else(|| highest(&header, "KEYS ")).unwrap_or(0);
            if used != named {
                find(1, format!("the file name says {named} keys, the script uses {used}"));
            }
        }
    }
    let lines = file.text.lines().count();
    if lines > LINES_MAX {
        find(LINES_MAX, format!("the script has {lines} lines"));
    }
    for (line, text) in &code {
        let upper = text.to_uppercase().replace('"', "'");
        for name in UNBOUNDED.iter().filter(|name| upper.contains(**name)) {
            find(*line, format!("{name} is not bounded"));
        }
        for name in CLOCKS.iter().filter(|name| upper.contains(&name.to_uppercase())) {
            find(*line, format!("{name}: use `now_ms()`"));
        }
    }
    findings.extend(globals(file, &code));
    findings
}

/// Assignments to a name that no `local`, parameter or `for` declares.
fn globals(file: &File, code: &[(usize, &str)]) -> Vec<Finding> {
    let mut known: Vec<String> = Vec::new();
    let mut findings = Vec::new();
    for (line, text) in code {
        for word in ["local ", "for ", "function "] {
            for (at, _) in text.match_indices(word) {
                let after = &text[at + word.len()..];
                let end = after.find(" in ").unwrap_or_else(|| after.find('=').unwrap_or(after.len()));
                known.extend(after[..end].split(|c: char| !is_word(c)).map(str::to_owned));
            }
        }
        let trimmed = text.trim_start();
        let target = trimmed
            .split_once('=')
            .filter(|(_, right)| !right.starts_with('='))
            .map_or("", |(left, _)| left.trim_end());
        let names: Vec<&str> = target.split(',').map(str::trim).collect();
        let assigned = !target.is_empty() && names.iter().all(|name| !name.is_empty() && name.chars().all(is_word));
        let unknown = names.iter().filter(|name| assigned && !known.iter().any(|word| word == *name));
        findings.extend(unknown.map(|name| Finding::new(&file.path, *line, format!("`{name}` is a global"))));
        if trimmed.starts_with("function ") {
            findings.push(Finding::new(&file.path, *line, "a global function (write `local function`)"));
        }
    }
    findings
}

fn without_comment(line: &str) -> &str {
    line.split("--").next().unwrap_or(line)
}

/// The highest number that follows `opening`, as in `KEYS[2]`.
fn highest(text: &str, opening: &str) -> Option<usize> {
    let numbers = text.match_indices(opening).map(|(at, _)| &text[at + opening.len()..]);
    numbers.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()).max()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "-- Gives it back.\n-- KEYS 1 lock   ARGV 1 owner\n-- Replies 1 released\n-- Cost O(1)\nlocal held = redis.call('GET', KEYS[1])\nheld = held or ''\nif held == ARGV[1] then return 1 end -- guard: owner\nreturn 0\n";

    fn found(name: &str, text: &str) -> Vec<String> {
        let tree = Tree::of([(format!("crates/protocol/src/lock/scripts/{name}"), text)]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_good_script_passes() {
        assert_eq!(found("release-1.lua", GOOD), Vec::<String>::new());
    }

    #[test]
    fn names_and_headers_are_checked() {
        assert_eq!(found("release-2.lua", GOOD), ["the file name says 2 keys, the script uses 1"]);
        assert_eq!(found("release.lua", GOOD), ["the file name does not end in the number of keys (`name-1.lua`)"]);
        assert_eq!(found("release-1.lua", &GOOD.replace("Cost", "")), ["the header does not document `Cost`"]);
        assert_eq!(found("release-1.lua", &GOOD.replace("KEYS[1]", "lock")), Vec::<String>::new());
        let two = found("release-2.lua", &GOOD.replace("KEYS[1]", "lock"));
        assert_eq!(two, ["the file name says 2 keys, the script uses 1"]);
    }

    #[test]
    fn clocks_walks_globals_and_length_are_checked() {
        let with = |line: &str| found("release-1.lua", &format!("{GOOD}{line}\n"));
        assert_eq!(with("local t = redis.call('TIME')"), ["'TIME': use `now_ms()`"]);
        assert_eq!(with("local all = redis.call(\"keys\", 'a')"), ["'KEYS' is not bounded"]);
        assert_eq!(with("found = 1"), ["`found` is a global"]);
        assert_eq!(with("function f() end"), ["a global function (write `local function`)"]);
        assert_eq!(with("local function f(a) a = 2 end"), Vec::<String>::new());
        assert_eq!(with(&"-- more\n".repeat(32)), ["the script has 41 lines"]);
    }
}
