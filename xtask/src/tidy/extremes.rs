//! Every public method that takes a duration, a number, text or bytes is called by a suite of extremes: a test, or a file of tests, with
//! `extreme` in its name.

use super::{Finding, Rule, Tree};
use crate::tidy::tree::File;

/// Where the steps are, which users do not reach, and the files there that they do.
const STEPS: &str = "crates/protocol/src/";
const EXPORTED: [&str; 4] = ["limit/quota.rs", "lock/name.rs", "queue/job.rs", "retry_delay.rs"];
/// Where the suites are: in the binary `it`, or in one of their own.
const SUITES: [&str; 2] = ["crates/evenkeel/tests/it/", "crates/evenkeel/tests/"];

pub(crate) const RULE: Rule = Rule {
    name: "extremes",
    requires: "a suite of extremes (a test or a file with that name) of the capability calls each public method of the library that takes a \
            duration, a number, text or bytes, with 0, 1, its bounds, the values just above them, and its largest value",
    check,
};

/// The types of parameters with extremes.
const TYPES: [&str; 21] = [
    "Duration",
    "UnixMs",
    "usize",
    "u8",
    "u16",
    "u32",
    "u64",
    "i64",
    "f64",
    "str",
    "String",
    "Wait",
    "Fence",
    "Retries",
    "RetryDelay",
    "Freshness",
    "Limits",
    "Limit",
    "WhenFull",
    "Fsync",
    "Durability",
];

/// Files, or methods of a file, that need no suite, and the reasons.
const EXCEPTIONS: [(&str, &str); 16] = [
    ("cache/key.rs", "every key of the suite is written with it"),
    ("clock.rs", "each span that reaches it is one of another method's"),
    ("link/connection/blocking.rs", "as `command`, which the suite calls"),
    ("link/epoch/mod.rs", "commands as they are: what they say is for Redis to check"),
    ("link/link.rs", "commands as they are: what they say is for Redis to check"),
    ("link/options.rs::with_tracked", "parts of names that capabilities give, not users"),
    ("link/push/pulse.rs", "users do not reach it"),
    ("link/support/recurring.rs", "users do not reach it"),
    ("link/support/retry.rs", "users do not reach it"),
    ("link/support/sweep.rs", "users do not reach it"),
    ("lock/redlock/mod.rs::connect_lazy", "takes what `connect` takes, which the suite calls"),
    ("queue/job.rs::shard", "the count is the topic's own"),
    ("retry_delay.rs::after", "consumers call it, users do not"),
    ("queue/topic/grow.rs::grow_with", "as `grow`, which the suite calls"),
    ("queue/topic/page.rs::list", "`peek` lists, and the suite calls it"),
    ("sql/contention/locking.rs::of", "a statement that is known when the program is built"),
];

fn check(tree: &Tree) -> Vec<Finding> {
    let suites: Vec<(&str, String)> =
        tree.rust().filter_map(|file| Some((area(of_suite(file)?), suite(file)))).collect();
    let mut findings = Vec::new();
    let mut used = [false; EXCEPTIONS.len()];
    let is_reached = |file: &File, inner: &str| !file.is_under(&[STEPS]) || EXPORTED.contains(&inner);
    for (file, inner) in tree.rust().filter_map(|file| Some((file, file.in_library()?))) {
        if !is_reached(file, &inner) {
            continue;
        }
        let of_all = !inner.contains('/');
        for (line, name) in methods(file) {
            let mut own = suites.iter().filter(|(suite, _)| of_all || *suite == area(&inner));
            if own.any(|(_, code)| calls(code, &name)) {
                continue;
            }
            let method = format!("{inner}::{name}");
            match EXCEPTIONS.iter().position(|(place, _)| *place == inner || *place == method) {
                Some(exception) => used[exception] = true,
                None => findings.push(Finding::new(&file.path, line, format!("no suite of extremes calls `{name}`"))),
            }
        }
    }
    // In the repository itself, unused exceptions are errors.
    let is_whole = tree.file("xtask/src/tidy/extremes.rs").is_some();
    for ((place, _), _) in EXCEPTIONS.iter().zip(used).filter(|(_, used)| is_whole && !used) {
        findings.push(Finding::new("xtask/src/tidy/extremes.rs", 0, format!("the exception `{place}` is not used")));
    }
    findings
}

/// The path of a test file within its binary's folder, or beginning with the name of a binary of its own.
fn of_suite(file: &File) -> Option<&str> {
    SUITES.iter().find_map(|folder| file.path.strip_prefix(folder))
}

/// The code of a test file that belongs to a suite of extremes: the whole file, or its functions with `extreme` in their names.
fn suite(file: &File) -> String {
    let is_whole = file.path.ends_with("extremes.rs");
    let mut is_inside = false;
    let lines = file.code().map(|(_, code)| code).filter(|code| {
        // Functions begin and end at the left margin.
        is_inside |= code.contains("fn ") && code.contains("extreme") && !code.starts_with(' ');
        let is_part = is_whole || is_inside;
        is_inside &= *code != "}";
        is_part
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The capability, by its folder.
fn area(inner: &str) -> &str {
    inner.split('/').next().unwrap_or(inner)
}

/// Whether the code has `.name`: a call, or a setting passed to a macro.
fn calls(code: &str, name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    code.split('.').skip(1).any(|rest| rest.strip_prefix(name).is_some_and(ends))
}

/// Public methods with a parameter of these types, without those that only tests use.
fn methods(file: &File) -> Vec<(usize, String)> {
    let mut methods = Vec::new();
    // Whether the item, and the top-level item that contains it, are for tests.
    let (mut for_tests, mut owner_for_tests) = (false, false);
    let lines: Vec<&str> = file.text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if code.is_empty() || code.starts_with("//") {
            continue;
        }
        if code.starts_with("#[") {
            for_tests |= code.contains("feature = \"testing\"") || code.starts_with("#[cfg(test)]");
            continue;
        }
        let item_for_tests = std::mem::take(&mut for_tests);
        if !line.starts_with([' ', '}', ')']) {
            owner_for_tests = item_for_tests;
        }
        let signature = ["pub fn ", "pub async fn ", "pub const fn "].iter().find_map(|start| code.strip_prefix(start));
        let Some(signature) = signature.filter(|_| !item_for_tests && !owner_for_tests) else { continue };
        let name: String = signature.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let whole = [&[signature], &lines[index + 1..]].concat().join(" ");
        let (parameters, rest) = parameters(&whole);
        // A line of `setters!`, which adds the `self`.
        let is_setter = rest.trim_start().starts_with("=>");
        if takes_extremes(parameters, is_setter) {
            methods.push((index + 1, name));
        }
    }
    methods
}

/// The text between the parentheses of a function, and the text after them. Its type parameters may contain parentheses, too.
fn parameters(signature: &str) -> (&str, &str) {
    let (mut angles, mut depth, mut start) = (0_i32, 0_i32, 0);
    for (at, c) in signature.char_indices() {
        match c {
            '<' if depth == 0 => angles += 1,
            '>' if depth == 0 && !signature[..at].ends_with('-') => angles -= 1,
            '(' if angles == 0 => {
                depth += 1;
                if depth == 1 {
                    start = at + 1;
                }
            }
            ')' if angles == 0 => {
                depth -= 1;
                if depth == 0 {
                    return (&signature[start..at], &signature[at + 1..]);
                }
            }
            _ => {}
        }
    }
    ("", "")
}

fn takes_extremes(parameters: &str, is_setter: bool) -> bool {
    let has = |text: &str, is_one: &dyn Fn(&str) -> bool| text.split(|c: char| !c.is_alphanumeric()).any(is_one);
    let others = match parameters.split_once(',') {
        _ if is_setter => parameters,
        Some((first, others)) if has(first, &|word| word == "self") => others,
        _ => return false,
    };
    has(others, &|word| TYPES.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "impl<F: Fn(u8) -> bool> Builder<F> {\n    pub fn ttl(mut self, ttl: Duration) -> Self {}\n    pub fn near(\n        \
        &self,\n        entries: usize,\n    ) {}\n    pub fn flag(self) -> usize {}\n    pub fn each<G: Fn(u8)>(&self, each: G) {}\n    \
        #[cfg(feature = \"testing\")]\n    pub fn clock(self, ms: u64) {}\n}\n\n#[cfg(feature = \"testing\")]\nimpl Builder {\n    \
        pub fn other(self, ms: u64) {}\n}\n";

    const SETTERS: &str = "impl Builder {\n    setters! {\n        pub fn limit(bytes: usize) => limit = bytes;\n\n        \
        pub fn grows() => grows = true;\n    }\n}\n";

    fn found(suites: &[(&str, &str)]) -> Vec<String> {
        found_in(SOURCE, suites)
    }

    fn found_in(source: &str, suites: &[(&str, &str)]) -> Vec<String> {
        let source = ("crates/evenkeel/src/cache/settings/builder.rs", source);
        let tree = Tree::of([source].into_iter().chain(suites.iter().copied()));
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn method_outside_suites_is_found() {
        let both = ["no suite of extremes calls `ttl`", "no suite of extremes calls `near`"];
        assert_eq!(found(&[]), both);
        let suite = "crates/evenkeel/tests/it/cache/reads/extremes.rs";
        assert_eq!(found(&[(suite, "spans! { .ttl .nearer }\n")]), both[1..]);
        assert_eq!(found(&[(suite, "builder.ttl(span).near(1)\n")]), Vec::<String>::new());
        assert_eq!(found(&[(suite, "// .ttl .near\n")]), both);
        assert_eq!(found(&[("crates/evenkeel/tests/it/queue/extremes.rs", "builder.ttl(span).near(1)\n")]), both);
        let other = "crates/evenkeel/tests/it/cache/reads/other.rs";
        assert_eq!(found(&[(other, "fn plain() {\n    builder.ttl(span).near(1);\n}\n")]), both);
        assert_eq!(found(&[(other, "fn extreme_one() {\n    builder.ttl(span).near(1);\n}\n")]), Vec::<String>::new());
    }
    #[test]
    fn setter_outside_suites_is_found() {
        assert_eq!(found_in(SETTERS, &[]), ["no suite of extremes calls `limit`"]);
        let suite = ("crates/evenkeel/tests/it/cache/reads/extremes.rs", "builder.limit(0)\n");
        assert_eq!(found_in(SETTERS, &[suite]), Vec::<String>::new());
    }
}
