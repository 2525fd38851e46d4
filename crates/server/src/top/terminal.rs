//! [`Terminal`]: the terminal while a view is shown; and the signals that end a view.

use super::screen::Size;
use crate::output::control;
use anyhow::{Context, Result};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{IsTerminal, stdin, stdout};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Clears the screen, hides the cursor, and cuts lines that are wider than the terminal: it may count other widths than we do.
const BEGIN: &str = "\x1b[2J\x1b[?25l\x1b[?7l";
/// Takes back what `BEGIN` has changed.
const END: &str = "\x1b[0m\x1b[?7h\x1b[?25h";

// Each refresh overwrites the previous screen line by line, which flickers less than clearing it.
const HOME: &str = "\x1b[H";
const END_OF_LINE: &str = "\x1b[K\n";
const END_OF_SCREEN: &str = "\x1b[J";

/// The size of a terminal that does not say it.
const SIZE: Size = Size { rows: 24, columns: 80 };

/// A terminal that sends each key at once and does not print it. Dropping this restores it, also after an error or a panic.
pub(super) struct Terminal {
    /// The modes of the input before, if it is a terminal.
    modes: Option<Termios>,
}

impl Terminal {
    pub(super) fn take() -> Result<Self> {
        let modes = if stdin().is_terminal() {
            Some(tcgetattr(stdin()).context("cannot read the modes of the terminal")?)
        } else {
            None
        };
        let terminal = Self { modes };
        if let Some(modes) = &terminal.modes {
            let mut by_key = modes.clone();
            // Ctrl-C is a key like others, which ends the view.
            by_key.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
            by_key.special_codes[SpecialCodeIndex::VMIN] = 1;
            by_key.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(stdin(), OptionalActions::Now, &by_key).context("cannot set the modes of the terminal")?;
        }
        control(BEGIN)?;
        Ok(terminal)
    }

    /// Whether keys can be read.
    pub(super) fn has_keys(&self) -> bool {
        self.modes.is_some()
    }

    /// The present size: the user may change it.
    pub(super) fn size(&self) -> Size {
        match tcgetwinsize(stdout()) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
                Size { rows: usize::from(size.ws_row), columns: usize::from(size.ws_col) }
            }
            _ => SIZE,
        }
    }

    /// Replaces what the screen shows.
    pub(super) fn draw(&self, lines: &[String]) -> Result<()> {
        let lines: String = lines.iter().map(|line| format!("{line}{END_OF_LINE}")).collect();
        control(&format!("{HOME}{lines}{END_OF_SCREEN}"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that was closed cannot be restored, and need not be.
        let _ = control(END);
        if let Some(modes) = &self.modes {
            let _ = tcsetattr(stdin(), OptionalActions::Now, modes);
        }
    }
}

/// The signals that end a view, so that it restores the terminal before the program exits.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).context("cannot handle SIGINT")?,
            terminate: signal(SignalKind::terminate()).context("cannot handle SIGTERM")?,
            hang_up: signal(SignalKind::hangup()).context("cannot handle SIGHUP")?,
        })
    }

    /// Completes at the next signal.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
