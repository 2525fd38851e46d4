//! Every crate has a description, and inherits license, lints and dependencies from the workspace.

use super::{Finding, Rule, Tree};
use toml::{Table, Value};

pub(crate) const RULE: Rule = Rule {
    name: "manifests",
    requires: "a crate has a description, and inherits license, edition, lints and dependencies from the workspace",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = tree.files().iter().filter(|file| file.name() == "Cargo.toml" && file.path != "Cargo.toml");
    let mut findings = Vec::new();
    for file in manifests {
        let found = match file.text.parse::<Table>() {
            Ok(manifest) => missing(&manifest),
            Err(error) => vec![error.to_string()],
        };
        findings.extend(found.into_iter().map(|what| Finding::new(&file.path, 0, what)));
    }
    findings
}

fn missing(manifest: &Table) -> Vec<String> {
    let mut missing = Vec::new();
    let inherits =
        |value: Option<&Value>| value.and_then(|value| value.get("workspace")) == Some(&Value::Boolean(true));
    let package = manifest.get("package");
    for key in ["version", "edition", "rust-version", "license"] {
        if !inherits(package.and_then(|package| package.get(key))) {
            missing.push(format!("`{key}.workspace = true` is missing"));
        }
    }
    let publish = package.and_then(|package| package.get("publish"));
    if !inherits(publish) && publish != Some(&Value::Boolean(true)) {
        missing.push("neither `publish.workspace = true` nor `publish = true`".to_owned());
    }
    if package.and_then(|package| package.get("description")).is_none() {
        missing.push("`description` is missing".to_owned());
    }
    if !inherits(manifest.get("lints")) {
        missing.push("`[lints] workspace = true` is missing".to_owned());
    }
    for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let dependencies = manifest.get(table).and_then(Value::as_table).into_iter().flatten();
        let own = dependencies.filter(|(_, value)| !inherits(Some(value)));
        missing.extend(own.map(|(name, _)| format!("`{name}` is not inherited from the workspace")));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nname = \"a\"\ndescription = \"A.\"\nversion.workspace = true\nedition.workspace = true\nrust-version.workspace = true\nlicense.workspace = true\npublish.workspace = true\n[lints]\nworkspace = true\n[dependencies]\nb = { workspace = true, features = [\"c\"] }\n";

    fn found(text: &str) -> Vec<String> {
        check(&Tree::of([("a/Cargo.toml", text)])).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn manifest_that_does_not_inherit_is_found() {
        assert_eq!(found(GOOD), Vec::<String>::new());
        assert_eq!(found(&GOOD.replace("license.", "x.")), ["`license.workspace = true` is missing"]);
        assert_eq!(found(&format!("{GOOD}d = \"1\"\n")), ["`d` is not inherited from the workspace"]);
    }
}
