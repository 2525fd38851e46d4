//! Shows tabs on a terminal until the user ends it.

use super::keys::{Action, Keys, action};
use super::look::Look;
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
    let mut view = View { terminal, tabs, tab: first, body: reading(), look: Look::new() };
    let mut pause = Duration::ZERO;
    loop {
        let reading = read(source, view.tab, pause);
        tokio::pin!(reading);
        // A key ends a reading that Redis or the database has not answered yet only if it opens another tab.
        let body = loop {
            tokio::select! {
                biased;
                () = signals.next() => return Ok(true),
                key = keys.next() => match action(key, tabs, view.tab, view.look.is_typing) {
                    Some(Action::End) => return Ok(true),
                    Some(Action::Open(tab)) => {
                        view.open(tab)?;
                        break None;
                    }
                    Some(Action::Change(change)) => {
                        view.look.change(change);
                        view.draw()?;
                    }
                    None => {}
                },
                body = &mut reading => break Some(body),
            }
        };
        pause = if body.is_some() { every } else { Duration::ZERO };
        if let Some(body) = body {
            view.body = body;
            view.draw()?;
        }
    }
}

/// What the terminal shows.
struct View<'a> {
    terminal: Terminal,
    tabs: &'a [Tab],
    tab: Tab,
    /// What was read last.
    body: Body,
    look: Look,
}

impl View<'_> {
    fn open(&mut self, tab: Tab) -> Result<()> {
        (self.tab, self.body) = (tab, reading());
        self.look.next_tab();
        self.draw()
    }

    fn draw(&mut self) -> Result<()> {
        let lines = screen(self.tabs, self.tab, &self.body, self.terminal.size(), &mut self.look);
        self.terminal.draw(&lines)
    }
}

fn reading() -> Body {
    Body::Text("Reading ..".to_owned())
}

/// Waits until the next reading is due, and reads the tab.
#[expect(clippy::disallowed_methods, reason = "the refresh interval")]
async fn read(source: &mut Source<'_>, tab: Tab, pause: Duration) -> Body {
    tokio::time::sleep(pause).await;
    match source.refresh(tab).await {
        Ok(listing) => Body::Table { time: source.time(), listing },
        Err(error) => Body::Text(source.without_secrets(&format!("{error:#}; retrying"))),
    }
}
