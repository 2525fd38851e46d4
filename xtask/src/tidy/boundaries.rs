//! The invariants of ARCHITECTURE.md that show in names: only `link/` connects to Redis, only `clock.rs` reads a clock.

use super::{Finding, Rule, Tree};
use crate::tidy::tree::File;

pub(crate) const RULE: Rule = Rule {
    name: "boundaries",
    requires: "only link/ reaches Redis or knows a cluster, only clock.rs reads a clock (take a `Link`, take a `Clock`)",
    check,
};

/// A part of the code that these names must not leave.
struct Boundary {
    /// Where the boundary is watched.
    inside: &'static [&'static str],
    /// Where the names belong.
    home: &'static str,
    names: &'static [&'static str],
}

const BOUNDARIES: &[Boundary] = &[
    Boundary {
        inside: &["crates/evenkeel/src/", "crates/server/src/", "apps/"],
        home: "crates/evenkeel/src/link/",
        names: &["redis::aio", "MultiplexedConnection", "redis::Client", "redis::cluster", "ClusterClient"],
    },
    Boundary { inside: &["crates/evenkeel/src/"], home: "crates/evenkeel/src/link/", names: &["cluster", "Cluster"] },
    Boundary {
        inside: &["crates/evenkeel/src/"],
        home: "crates/evenkeel/src/clock.rs",
        names: &["Instant::now", "SystemTime", "tokio::time", "Timestamp::now", "Zoned::now", "clock_gettime"],
    },
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for boundary in BOUNDARIES {
        let watched =
            |file: &File| file.is_under(boundary.inside) && !file.is_under(&[boundary.home]) && !file.is_test();
        for file in tree.rust().filter(|file| watched(file)) {
            for (line, code) in file.code() {
                let names = boundary.names.iter().filter(|name| code.contains(**name));
                findings.extend(
                    names.map(|name| Finding::new(&file.path, line, format!("`{name}` belongs in {}", boundary.home))),
                );
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_outside_its_home_is_found() {
        let tree = Tree::of([
            ("crates/evenkeel/src/link/mod.rs", "use redis::aio::MultiplexedConnection;"),
            ("crates/evenkeel/src/clock.rs", "let now = SystemTime::now();"),
            ("crates/evenkeel/src/cache/mod.rs", "let now = Instant::now(); // no SystemTime"),
            ("apps/shortlink/src/main.rs", "let client = redis::Client::open(url);\nlet now = Instant::now();"),
            ("crates/testkit/src/lib.rs", "let client = redis::Client::open(url);"),
        ]);
        let expected = [
            Finding::new("apps/shortlink/src/main.rs", 1, "`redis::Client` belongs in crates/evenkeel/src/link/"),
            Finding::new(
                "crates/evenkeel/src/cache/mod.rs",
                1,
                "`Instant::now` belongs in crates/evenkeel/src/clock.rs",
            ),
        ];
        assert_eq!(check(&tree), expected);
    }
}
