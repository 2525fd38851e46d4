//! Checks that pages fit narrow and wide windows. Light and dark differ in colors only, so they matter for screenshots only.

use super::Browser;
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::path::PathBuf;

/// A desktop, a tablet, a phone and a small phone, in CSS pixels.
const WIDTHS: [u32; 4] = [1280, 768, 390, 320];

const HEIGHT: u32 = 900;

/// The folder for screenshots, if set.
const SCREENSHOTS: &str = "EVENKEEL_SCREENSHOTS";

/// Maximum height of a screenshot.
const SHOT_HEIGHT_MAX: u64 = 6000;

/// Returns what does not fit: the page or a table scrolls sideways, an element exceeds it, text is cut without an ellipsis, a long text is
/// squeezed into a narrow column, or a word is broken inside, also one of a name or of code (`order-events`, `a::b`). (Words consist of at most 20
/// letters: ids may be broken.)
const SCRIPT: &str = r"
    const root = document.documentElement, width = root.clientWidth, found = [];
    if (root.scrollWidth > width) found.push(`the page is ${root.scrollWidth} wide`);
    const scrolls = (element) => {
        for (let at = element; at; at = at.parentElement)
            if (['auto', 'scroll'].includes(getComputedStyle(at).overflowX)) return true;
        return false;
    };
    for (const element of document.body.querySelectorAll('*')) {
        const box = element.getBoundingClientRect(), style = getComputedStyle(element);
        if (box.width === 0 || box.height === 0 || box.right < 0 || ['INPUT', 'SELECT', 'OPTION', 'PROGRESS'].includes(element.tagName)) continue;
        const name = `${element.tagName.toLowerCase()}.${element.className} ${JSON.stringify(element.textContent.trim().slice(0, 40))}`;
        if (box.right > width + 1 && !scrolls(element)) found.push(`${name} ends at ${Math.round(box.right)}`);
        if (element.matches('.scroll') && element.checkVisibility() && element.scrollWidth > element.clientWidth + 1)
            found.push(`${name} scrolls sideways: ${element.scrollWidth} in ${element.clientWidth}`);
        if (style.display === 'inline' || element.scrollWidth <= element.clientWidth + 1) continue;
        const hides = style.overflowX === 'hidden' || style.overflowX === 'clip';
        if (hides && style.textOverflow !== 'ellipsis') found.push(`${name} is cut`);
        if (!hides && element.children.length === 0 && !scrolls(element)) found.push(`${name} is wider than its box`);
    }
    for (const cell of document.body.querySelectorAll('td, p')) {
        const box = cell.getBoundingClientRect();
        if (box.width > 0 && box.width < 96 && box.right > 0 && cell.textContent.trim().length > 40)
            found.push(`${JSON.stringify(cell.textContent.trim().slice(0, 40))} is squeezed into ${Math.round(box.width)} pixels`);
    }
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
    const lines = () => new Set([...range.getClientRects()].filter((box) => box.width > 0).map((box) => Math.round(box.top))).size;
    const isLetter = (text) => /[\p{L}\p{N}]/u.test(text);
    // The text behind a `wbr`.
    const besides = (node, side) => (node[side]?.nodeName === 'WBR' && node[side][side]?.data) || '';
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
        range.selectNodeContents(node);
        if (lines() < 2 || node.parentElement.closest('pre, textarea')) continue;
        for (const word of node.data.matchAll(/(?<![\p{L}\p{N}])\p{L}{2,20}(?![\p{L}\p{N}])/gu)) {
            // A part of a longer word, which may be broken.
            const end = word.index + word[0].length;
            if (word.index === 0 && isLetter(besides(node, 'previousSibling').slice(-1))) continue;
            if (end === node.data.length && isLetter(besides(node, 'nextSibling').slice(0, 1))) continue;
            range.setStart(node, word.index);
            range.setEnd(node, end);
            if (lines() > 1) found.push(`the word ${word[0]} is broken in ${JSON.stringify(node.data.trim().slice(0, 40))}`);
        }
    }
    return found.slice(0, 5);
";

/// A page to check.
#[derive(Clone, Debug)]
pub struct Shot {
    name: String,
    url: String,
}

impl Shot {
    /// The page at `url`; `name` names it in errors and screenshots.
    #[must_use]
    pub fn new(name: &str, url: &str) -> Self {
        Self { name: name.to_owned(), url: url.to_owned() }
    }
}

/// Opens each page, makes its window narrower, opens it again at each width, and checks it each time as [`page_fits`] does.
pub async fn fits(browser: &Browser, pages: &[Shot]) -> Result<()> {
    let mut wrong = Vec::new();
    for page in pages {
        wrong.extend(misfits(browser, &page.name, Some(&page.url)).await?);
    }
    ensure!(wrong.is_empty(), "pages do not fit:\n{}", wrong.join("\n"));
    Ok(())
}

/// Checks the open page at 1,280, 768, 390 and 320 pixels. If `EVENKEEL_SCREENSHOTS` names a folder, screenshots in light and dark go there.
///
/// Errors: the page or a table scrolls sideways, or an element exceeds it, is cut or is squeezed, or a word is broken; the error names the element and
/// the width.
pub async fn page_fits(browser: &Browser, name: &str) -> Result<()> {
    let wrong = misfits(browser, name, None).await?;
    ensure!(wrong.is_empty(), "the page does not fit:\n{}", wrong.join("\n"));
    Ok(())
}

/// What does not fit at each width; the page is opened at the first one and opened again at each if `url` is given.
async fn misfits(browser: &Browser, name: &str, url: Option<&str>) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let mut check = async |browser: &Browser, when: String| -> Result<()> {
        let found = browser.eval(SCRIPT).await?;
        let found = found.as_array().cloned().unwrap_or_default();
        wrong.extend(found.iter().map(|what| format!("{name} at {when}: {what}")));
        Ok(())
    };
    for width in WIDTHS {
        resize(browser, width, HEIGHT).await?;
        if let Some(url) = url {
            if width < WIDTHS[0] {
                check(browser, format!("{width} px, made narrower")).await?;
            }
            browser.goto(url).await?;
        }
        check(browser, format!("{width} px")).await?;
        if let Some(folder) = std::env::var_os(SCREENSHOTS).map(PathBuf::from) {
            let height = browser.eval("return document.documentElement.scrollHeight").await?;
            let height = u32::try_from(height.as_u64().unwrap_or_default().min(SHOT_HEIGHT_MAX))?;
            resize(browser, width, height).await?;
            for scheme in ["dark", "light"] {
                emulate_scheme(browser, scheme).await?;
                let file = folder.join(format!("{name}-{width}-{scheme}.png"));
                browser.screenshot(&file).await.context("screenshot")?;
            }
        }
    }
    resize(browser, WIDTHS[0], HEIGHT).await?;
    Ok(wrong)
}

/// Lets pages see that the user prefers a color scheme, `light` or `dark`, and no motion: colors do not fade into each other.
pub async fn emulate_scheme(browser: &Browser, scheme: &str) -> Result<()> {
    let feature = |name: &str, value: &str| json!({ "name": name, "value": value });
    let media =
        json!({ "features": [feature("prefers-color-scheme", scheme), feature("prefers-reduced-motion", "reduce")] });
    browser.devtools("Emulation.setEmulatedMedia", media).await.map(drop)
}

async fn resize(browser: &Browser, width: u32, height: u32) -> Result<()> {
    let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
    browser.devtools("Emulation.setDeviceMetricsOverride", metrics).await.map(drop)
}
