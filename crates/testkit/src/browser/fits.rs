//! Checks that pages fit narrow and wide windows, in light and dark mode.

use super::Browser;
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::path::PathBuf;

/// A small phone, a tablet and a desktop, in CSS pixels.
const WIDTHS: [u32; 3] = [320, 768, 1280];

const HEIGHT: u32 = 900;

/// The folder for screenshots, if set.
const SCREENSHOTS: &str = "EVENKEEL_SCREENSHOTS";

/// Maximum height of a screenshot.
const SHOT_HEIGHT_MAX: u64 = 6000;

/// Returns what does not fit: the page scrolls sideways, an element exceeds it, text is cut without an ellipsis, or a long text is
/// squeezed into a narrow column.
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

/// Opens each page at 320, 768 and 1,280 pixels, in light and in dark mode. If `EVENKEEL_SCREENSHOTS` names a folder, screenshots go there.
///
/// Errors: a page scrolls sideways, or an element exceeds it, is cut or is squeezed; the error names the element, the page and the width.
pub async fn fits(browser: &Browser, pages: &[Shot]) -> Result<()> {
    let folder = std::env::var_os(SCREENSHOTS).map(PathBuf::from);
    let mut wrong = Vec::new();
    for scheme in ["light", "dark"] {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.devtools("Emulation.setEmulatedMedia", media).await?;
        for width in WIDTHS {
            for page in pages {
                resize(browser, width, HEIGHT).await?;
                browser.goto(&page.url).await?;
                let found = browser.eval(SCRIPT).await?;
                let found = found.as_array().cloned().unwrap_or_default();
                wrong.extend(found.iter().map(|what| format!("{} at {width} px, {scheme}: {what}", page.name)));
                if let Some(folder) = &folder {
                    let height = browser.eval("return document.documentElement.scrollHeight").await?;
                    let height = u32::try_from(height.as_u64().unwrap_or_default().min(SHOT_HEIGHT_MAX))?;
                    resize(browser, width, height).await?;
                    let file = folder.join(format!("{}-{width}-{scheme}.png", page.name));
                    browser.screenshot(&file).await.context("screenshot")?;
                }
            }
        }
    }
    ensure!(wrong.is_empty(), "pages do not fit:\n{}", wrong.join("\n"));
    Ok(())
}

async fn resize(browser: &Browser, width: u32, height: u32) -> Result<()> {
    let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
    browser.devtools("Emulation.setDeviceMetricsOverride", metrics).await.map(drop)
}
