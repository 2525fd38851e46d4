//! `cargo xtask api`: the public items of the published crates, one file per crate in `docs/api/`, so that a review of a change sees
//! what it does to them. `cargo xtask check` fails if a file is outdated.
//!
//! The items are read from the pages that `cargo doc` writes: what users see there is what they can use, and a stable compiler is enough.
//! Another version of the compiler may print an item differently; then the files are renewed.

use crate::shell::{self, cargo};
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The folder of the files.
const FOLDER: &str = "docs/api";

/// Writes the files.
pub(crate) fn run() -> Result<()> {
    for (file, items) in documented()? {
        std::fs::create_dir_all(file.parent().unwrap_or(&file))?;
        std::fs::write(&file, items).with_context(|| format!("could not write {}", file.display()))?;
        println!("wrote {}", file.display());
    }
    Ok(())
}

/// Fails with the differences if a file is outdated.
pub(crate) fn check() -> Result<()> {
    let mut is_current = true;
    for (file, items) in documented()? {
        let held = std::fs::read_to_string(&file).unwrap_or_default();
        let differences = differences(&held, &items);
        if !differences.is_empty() {
            println!("{}:\n{differences}", file.display());
            is_current = false;
        }
    }
    if is_current {
        return Ok(());
    }
    bail!(
        "the public items differ from {FOLDER}; if that is intended, run `cargo xtask api` and tell users in CHANGELOG.md"
    )
}

/// Documents the published crates with all features for users; returns the file of each and what belongs into it.
fn documented() -> Result<Vec<(PathBuf, String)>> {
    let packages = super::check::PUBLISHED.iter().flat_map(|name| ["--package", name]);
    let features: Vec<String> =
        super::check::capabilities()?.into_iter().map(|name| format!("evenkeel/{name}")).collect();
    let words = ["doc", "--no-deps", "--features", &features.join(",")];
    shell::run(cargo(&words).args(packages).env("RUSTDOCFLAGS", "-D warnings"))?;
    let pages = shell::target()?.join("doc");
    let folder = shell::root().join(FOLDER);
    let files = super::check::PUBLISHED
        .iter()
        .map(|name| Ok((folder.join(format!("{name}.txt")), items(&pages.join(name.replace('-', "_")))?)));
    files.collect()
}

/// All public items of the crate whose documentation is in `folder`.
fn items(folder: &Path) -> Result<String> {
    let mut items = String::new();
    let all = page(&folder.join("all.html"))?;
    // The other links of the list lead to its own headings.
    for entry in between(&all, "<li><a href=\"", "</a>").filter(|entry| !entry.starts_with('#')) {
        let (link, path) = entry.split_once("\">").context("all.html has an entry without a link")?;
        let item = item(&page(&folder.join(link))?);
        writeln!(items, "# {}\n{item}", plain(path))?;
    }
    Ok(items)
}

fn page(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("rustdoc wrote no {}", file.display()))
}

/// The declaration of a page's item, its methods, and the traits that it implements.
fn item(page: &str) -> String {
    let declaration = between(page, "<pre class=\"rust item-decl\"><code>", "</code></pre>").next().unwrap_or_default();
    let mut lines: Vec<String> = plain(declaration).lines().map(str::to_owned).collect();
    let methods = section(page, "implementations");
    lines.extend(between(methods, "<h4 class=\"code-header\">", "</h4>").map(on_one_line));
    let traits = section(page, "trait-implementations");
    lines.extend(between(traits, "<h3 class=\"code-header\">", "</h3>").map(on_one_line));
    lines
        .iter()
        .filter(|line| !line.is_empty() && !line.contains("StructuralPartialEq"))
        .fold(String::new(), |text, line| text + line + "\n")
}

/// The part of a page below a heading.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let Some((_, part)) = page.split_once(&format!("<h2 id=\"{heading}\"")) else { return "" };
    part.split_once("<h2 id=").map_or(part, |(part, _)| part)
}

/// Each part of a text between the two marks.
fn between<'a>(text: &'a str, start: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(start).skip(1).filter_map(move |part| Some(part.split_once(end)?.0))
}

fn on_one_line(html: &str) -> String {
    plain(html).split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(", )", ")")
}

/// The text without its tags.
fn plain(html: &str) -> String {
    // A long declaration is folded below a summary, which only says how long it is.
    let unfolded: String =
        html.split("<summary").map(|part| part.split_once("</summary>").map_or(part, |(_, rest)| rest)).collect();
    let lines = unfolded.replace("</div>", "\n").replace("<div class=\"where\">", "\n");
    let text: String = lines.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text, |text, (code, char)| text.replace(code, char))
        // The mark of a tooltip.
        .replace(" ⓘ", "")
}

/// The lines that only one of the texts has, each below the item that it belongs to.
fn differences(held: &str, now: &str) -> String {
    let (held, now) = (by_item(held), by_item(now));
    let gone = held.iter().filter(|line| !now.contains(line)).map(|line| ('-', line));
    let new = now.iter().filter(|line| !held.contains(line)).map(|line| ('+', line));
    let mut lines: Vec<_> = gone.chain(new).collect();
    lines.sort_by_key(|(_, line)| *line);
    lines.iter().fold(String::new(), |text, (sign, (item, line))| text + &format!("  {sign} {item}: {line}\n"))
}

fn by_item(text: &str) -> Vec<(&str, &str)> {
    let mut item = "";
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        item = line.strip_prefix("# ").unwrap_or(item);
        lines.push((item, line.trim()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r##"<pre class="rust item-decl"><code><div class="code-attribute">#[non_exhaustive]</div>pub struct Cache&lt;K&gt;<details><summary class="hideme"><span>Show 1 field</span></summary> {
    pub name: <a href="x">String</a>,
}</details></code></pre><h2 id="implementations">Implementations</h2><h3 class="code-header">impl&lt;K&gt; Cache&lt;K&gt;</h3>
<h4 class="code-header">pub fn <a class="fn">get</a>(
    &amp;self,
    key: <a href="y">K</a>,
) -&gt; u8</h4><h2 id="trait-implementations"><h3 class="code-header">impl Clone for Cache</h3><h4 class="code-header">fn clone(&amp;self)</h4>
<h2 id="blanket-implementations"><h3 class="code-header">impl&lt;T&gt; Any for T</h3>"##;

    #[test]
    fn item_lists_declaration_methods_and_traits() {
        let lines = "#[non_exhaustive]\npub struct Cache<K> {\n    pub name: String,\n}\npub fn get(&self, key: K) -> u8\nimpl Clone for Cache\n";
        assert_eq!(item(PAGE), lines);
    }

    #[test]
    fn difference_names_item_and_line() {
        let (held, now) = ("# a\nfn b()\nfn c()\n\n# d\nfn b()\n", "# a\nfn c()\n\n# d\nfn b()\nfn e()\n");
        assert_eq!(differences(held, now), "  - a: fn b()\n  + d: fn e()\n");
        assert_eq!(differences(now, now), "");
    }
}
