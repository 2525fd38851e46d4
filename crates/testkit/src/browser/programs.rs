//! Starts Chromium and chromedriver.
//!
//! Chromium is not a child of the driver, so that it also ends with the test process.

use crate::folder::Folder;
use crate::process::{Child, Launch};
use crate::servers::{Port, Program, until_ready};
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use tokio::net::TcpStream;

/// No sandbox, because tests may run as root; the other options disable background network traffic and desktop integration.
const ARGUMENTS: [&str; 15] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--mute-audio",
    "--window-size=1280,900",
    "--remote-debugging-port=0",
];

#[derive(Debug)]
pub(super) struct Programs {
    pub(super) driver_port: u16,
    pub(super) browser_port: u16,
    _driver: Child,
    _browser: Child,
    _port: Port,
    _folder: Folder,
}

impl Programs {
    pub(super) async fn start() -> Result<Programs> {
        let folder = Folder::temporary("browser", None)?;
        let (browser, browser_port) = start_browser(folder.path()).await?;
        let (driver, port) = start_driver(folder.path()).await?;
        Ok(Programs {
            driver_port: port.number(),
            browser_port,
            _driver: driver,
            _browser: browser,
            _port: port,
            _folder: folder,
        })
    }
}

async fn start_browser(folder: &Path) -> Result<(Child, u16)> {
    let profile = folder.join("profile");
    let program = Program::find("EVENKEEL_CHROMIUM", &["chromium", "chromium-browser", "google-chrome"])?;
    let mut browser = program
        .launch(&folder.join("browser.log"))
        .environment("HOME", folder)
        .arguments(ARGUMENTS)
        .argument(format!("--user-data-dir={}", profile.display()))
        .argument("about:blank")
        .start()?;
    let chosen = profile.join("DevToolsActivePort");
    let port = until_ready("chromium", &mut browser, async || {
        let text = fs::read_to_string(&chosen).context("it has not opened its port yet")?;
        Ok(text.lines().next().unwrap_or_default().parse()?)
    });
    let port = port.await?;
    Ok((browser, port))
}

async fn start_driver(folder: &Path) -> Result<(Child, Port)> {
    let program = Program::find("EVENKEEL_CHROMEDRIVER", &["chromedriver"])?;
    let port = Port::reserve()?;
    let launch: Launch = program.launch(&folder.join("driver.log")).argument(format!("--port={}", port.number()));
    let mut driver = launch.start()?;
    let number = port.number();
    until_ready("chromedriver", &mut driver, async || Ok(TcpStream::connect(("127.0.0.1", number)).await.map(drop)?))
        .await?;
    Ok((driver, port))
}
