//! Shows tabs on a terminal until the user ends it.

use super::keys::{Action, Keys};
use super::screen::{Body, screen};
use super::terminal::{Signals, Terminal};
use super::{Source, Tab};
use crate::output::Output;
use anyhow::Result;
use std::time::Duration;

/// The shortest refresh interval.
const EVERY_MS_MIN: u64 = 100;

/// Shows `first`, and the other tabs at their keys. If the output is not a terminal, prints `first` once.
pub(crate) async fn show(
    source: &mut Source<'_>,
    tabs: &[Tab],
    first: Tab,
    every_ms: u64,
    output: Output,
) -> Result<bool> {
    if !output.is_live() {
        source.read(first).await?.print(output)?;
        return Ok(true);
    }
    let every = Duration::from_millis(every_ms.max(EVERY_MS_MIN));
    let mut signals = Signals::new()?;
    let terminal = Terminal::take()?;
    let mut keys = Keys::of_terminal(terminal.has_keys())?;
    let mut tab = first;
    loop {
        // A key ends a reading that Redis or the database has not answered yet.
        tokio::select! {
            biased;
            () = signals.next() => return Ok(true),
            action = keys.next(tabs, tab) => match action {
                Action::End => return Ok(true),
                Action::Open(next) => {
                    tab = next;
                    let body = Body::Text("Reading ..".to_owned());
                    terminal.draw(&screen(tabs, tab, &body, terminal.size()))?;
                }
            },
            refreshed = refresh(source, &terminal, tabs, tab, every) => refreshed?,
        }
    }
}

/// Reads the tab, draws it, and waits until the next refresh is due.
#[expect(clippy::disallowed_methods, reason = "the refresh interval")]
async fn refresh(source: &mut Source<'_>, terminal: &Terminal, tabs: &[Tab], tab: Tab, every: Duration) -> Result<()> {
    let body = match source.refresh(tab).await {
        Ok(listing) => Body::Table { time: source.time(), listing },
        Err(error) => Body::Text(source.without_secrets(&format!("{error:#}; retrying"))),
    };
    terminal.draw(&screen(tabs, tab, &body, terminal.size()))?;
    tokio::time::sleep(every).await;
    Ok(())
}
