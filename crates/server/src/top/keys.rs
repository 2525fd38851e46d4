//! [`Keys`]: reads keys from the terminal.
//!
//! Terminals send an arrow key as the escape byte and what follows it, and the escape key as that byte alone.

use super::Tab;
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::stdin;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const ESCAPE: u8 = 0x1b;
const CONTROL_C: u8 = 0x03;

/// How long the rest of a sequence may take: a slow connection may send it in parts.
const SEQUENCE_MAX: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Bytes that are read before a sequence without an end is ignored.
const BYTES_MAX: usize = 256;

/// A key with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Character(char),
    Next,
    Previous,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Enter,
    Backspace,
    Escape,
    Interrupt,
}

/// What a key changes about the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    /// By trouble or by name.
    Sort,
    /// The following letters are those of the filter.
    Type,
    Letter(char),
    Remove,
    /// The filter is complete.
    Keep,
    /// No filter.
    Clear,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Open(Tab),
    Change(Change),
    End,
}

/// The keys that the user presses.
pub(super) struct Keys(UnboundedReceiver<Key>);

impl Keys {
    /// Reads keys until the program ends, on a thread of its own: a read from a terminal cannot be canceled. Without a terminal there are
    /// no keys.
    pub(super) fn of_terminal(is_terminal: bool) -> Result<Self> {
        let (sender, receiver) = unbounded_channel();
        if is_terminal {
            let reader = std::thread::Builder::new().name("keys".to_owned());
            reader.spawn(move || read(&sender)).context("cannot start a thread that reads keys")?;
        }
        Ok(Self(receiver))
    }

    /// The next key. It is not lost if the future is dropped.
    pub(super) async fn next(&mut self) -> Key {
        match self.0.recv().await {
            Some(key) => key,
            // There is no terminal, or it was closed.
            None => std::future::pending().await,
        }
    }
}

/// What the key does, if anything. While the user types a filter, characters are its letters.
pub(super) fn action(key: Key, tabs: &[Tab], current: Tab, is_typing: bool) -> Option<Action> {
    let (place, number) = (tabs.iter().position(|tab| *tab == current)?, tabs.len());
    let change = |change| Some(Action::Change(change));
    let place = match key {
        Key::Character(letter) if is_typing => return change(Change::Letter(letter)),
        Key::Backspace if is_typing => return change(Change::Remove),
        Key::Enter if is_typing => return change(Change::Keep),
        Key::Escape if is_typing => return change(Change::Clear),
        Key::Interrupt | Key::Escape | Key::Character('q' | 'Q') => return Some(Action::End),
        Key::Up | Key::Character('k') => return change(Change::Up),
        Key::Down | Key::Character('j') => return change(Change::Down),
        Key::PageUp => return change(Change::PageUp),
        Key::PageDown | Key::Character(' ') => return change(Change::PageDown),
        Key::First | Key::Character('g') => return change(Change::First),
        Key::Last | Key::Character('G') => return change(Change::Last),
        Key::Character('s') => return change(Change::Sort),
        Key::Character('/') => return change(Change::Type),
        Key::Character(digit) => usize::try_from(digit.to_digit(10)?).ok()?.checked_sub(1)?,
        Key::Next => (place + 1) % number,
        Key::Previous => (place + number - 1) % number,
        Key::Enter | Key::Backspace => return None,
    };
    let tab = *tabs.get(place)?;
    (tab != current).then_some(Action::Open(tab))
}

fn read(keys: &UnboundedSender<Key>) {
    let (mut bytes, mut part) = (Vec::new(), [0_u8; 64]);
    loop {
        match rustix::io::read(stdin(), &mut part) {
            Ok(0) => return,
            Ok(read) => bytes.extend_from_slice(&part[..read]),
            Err(error) if error == Errno::INTR => {}
            Err(_) => return,
        }
        if is_unfinished(&bytes) && bytes.len() < BYTES_MAX && is_more_to_come() {
            continue;
        }
        for key in parse(&bytes) {
            if keys.send(key).is_err() {
                return;
            }
        }
        bytes.clear();
    }
}

fn is_more_to_come() -> bool {
    let input = stdin();
    poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&SEQUENCE_MAX)).is_ok_and(|ready| ready > 0)
}

/// Whether the bytes end within a sequence, or with an escape byte that may begin one.
fn is_unfinished(bytes: &[u8]) -> bool {
    let Some(at) = bytes.iter().rposition(|byte| *byte == ESCAPE) else { return false };
    match &bytes[at + 1..] {
        [] => true,
        [b'[' | b'O', rest @ ..] => !rest.iter().any(ends_sequence),
        _ => false,
    }
}

fn ends_sequence(byte: &u8) -> bool {
    (0x40..=0x7e).contains(byte)
}

/// The keys of these bytes. Other keys are ignored.
fn parse(bytes: &[u8]) -> Vec<Key> {
    let (mut keys, mut rest) = (Vec::new(), bytes);
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match *first {
            ESCAPE => {
                let (key, after) = sequence(after);
                keys.extend(key);
                rest = after;
            }
            CONTROL_C => keys.push(Key::Interrupt),
            b'\t' => keys.push(Key::Next),
            b'\r' | b'\n' => keys.push(Key::Enter),
            0x08 | 0x7f => keys.push(Key::Backspace),
            byte if byte.is_ascii_graphic() || byte == b' ' => keys.push(Key::Character(char::from(byte))),
            _ => {}
        }
    }
    keys
}

/// The key of the bytes that follow an escape byte, and the bytes after it.
fn sequence(bytes: &[u8]) -> (Option<Key>, &[u8]) {
    match bytes {
        [] => (Some(Key::Escape), bytes),
        [ESCAPE, ..] => (None, bytes),
        [b'[' | b'O', rest @ ..] => {
            let end = rest.iter().position(ends_sequence).map_or(rest.len(), |at| at + 1);
            let (sequence, rest) = rest.split_at(end);
            let key = match sequence {
                b"A" => Some(Key::Up),
                b"B" => Some(Key::Down),
                b"C" => Some(Key::Next),
                b"5~" => Some(Key::PageUp),
                b"6~" => Some(Key::PageDown),
                b"H" | b"1~" | b"7~" => Some(Key::First),
                b"F" | b"4~" | b"8~" => Some(Key::Last),
                // With the shift key, the tabulator sends `Z`.
                b"D" | b"Z" => Some(Key::Previous),
                _ => None,
            };
            (key, rest)
        }
        [_, rest @ ..] => (None, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_terminal_are_parsed_as_keys() {
        let cases: [(&[u8], &[Key]); 11] = [
            (b"3q", &[Key::Character('3'), Key::Character('q')]),
            (b"\x1b", &[Key::Escape]),
            (b"\x1b\x1b", &[Key::Escape]),
            (b"\x03", &[Key::Interrupt]),
            (b"\t\x1b[C\x1bOC", &[Key::Next; 3]),
            (b"\x1b[D\x1b[Z", &[Key::Previous; 2]),
            (b"\x1b[A\x1bOB\x1b[5~\x1b[6~", &[Key::Up, Key::Down, Key::PageUp, Key::PageDown]),
            (b"\x1b[H\x1b[4~", &[Key::First, Key::Last]),
            (b"\x1b[1;5C\x1b[15~\x1bx2", &[Key::Character('2')]),
            (b"\x00\x04\r \xc3\xa4\x7f", &[Key::Enter, Key::Character(' '), Key::Backspace]),
            (b"\x1b[", &[]),
        ];
        for (bytes, keys) in cases {
            assert_eq!(parse(bytes), keys, "{bytes:?}");
        }
    }

    #[test]
    fn unfinished_sequence_waits_for_its_rest() {
        assert!([&b"\x1b"[..], b"q\x1b", b"\x1b[", b"\x1b[1;5", b"\x1bO"].iter().all(|bytes| is_unfinished(bytes)));
        assert!([&b""[..], b"q", b"\x1b[C", b"\x1b[1;5C", b"\x1bx"].iter().all(|bytes| !is_unfinished(bytes)));
    }

    #[test]
    fn keys_switch_tabs_or_end_the_view() {
        let tabs = Tab::all(false);
        let of = |key| action(key, tabs, Tab::Topics, false);
        assert_eq!(of(Key::Character('3')), Some(Action::Open(Tab::Caches)));
        assert_eq!(of(Key::Next), Some(Action::Open(Tab::Streams)));
        assert_eq!(of(Key::Previous), Some(Action::Open(Tab::Processes)));
        assert_eq!([Key::Character('q'), Key::Escape, Key::Interrupt].map(of), [Some(Action::End); 3]);
        // The open tab, a tab that there is not, and keys without a meaning.
        assert_eq!(['1', '6', '0', '9', 'x'].map(|key| of(Key::Character(key))), [None; 5]);
        assert_eq!(action(Key::Next, tabs, Tab::Processes, false), Some(Action::Open(Tab::Topics)));
        assert_eq!(action(Key::Character('6'), Tab::all(true), Tab::Topics, false), Some(Action::Open(Tab::Outbox)));
        assert_eq!(action(Key::Next, &[Tab::Topics], Tab::Topics, false), None);
    }

    #[test]
    fn keys_are_letters_while_a_filter_is_typed() {
        let of = |key| action(key, Tab::all(false), Tab::Topics, true);
        assert_eq!(
            ['q', '3', '/'].map(|key| of(Key::Character(key))),
            ['q', '3', '/'].map(|key| Some(Action::Change(Change::Letter(key))))
        );
        assert_eq!([of(Key::Escape), of(Key::Interrupt)], [Some(Action::Change(Change::Clear)), Some(Action::End)]);
    }
}
