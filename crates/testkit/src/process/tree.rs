//! The descendants of a process, from `/proc`. A signal to a process group would miss PostgreSQL's backends, which have sessions of
//! their own.

use std::fs;

/// `root` and its descendants, parents first.
pub(super) fn of(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = all().into_iter().filter_map(|process| Some((process, stat(process)?.1))).collect();
    let mut tree = vec![root];
    let mut next = 0;
    while next < tree.len() {
        let parent = tree[next];
        tree.extend(parents.iter().filter(|(_, its)| *its == parent).map(|(process, _)| *process));
        next += 1;
    }
    tree
}

/// Whether the process is stopped by a signal, or has ended.
pub(super) fn is_stopped(process: u32) -> bool {
    stat(process).is_none_or(|(state, _)| matches!(state, 'T' | 't' | 'Z' | 'X'))
}

/// Whether the process still has memory and sockets, which a zombie has not.
pub(super) fn is_alive(process: u32) -> bool {
    stat(process).is_some_and(|(state, _)| !matches!(state, 'Z' | 'X'))
}

fn all() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// State and parent of a process. The second field, the program's name in brackets, may contain any text, so the fields are counted
/// from its last bracket.
fn stat(process: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
