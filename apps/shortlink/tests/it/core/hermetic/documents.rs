//! Documents that would drift.

use clap::CommandFactory;
use shortlink::config::Flags;
use std::path::Path;

/// docs/config.md has a row for every setting, and no other.
#[test]
fn every_setting_has_its_row() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut told: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| shortlink |"))
        .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('`')).skip(2).take(3).collect())
        .collect();
    let command = Flags::command();
    let mut known: Vec<Vec<String>> = command
        .get_arguments()
        .filter_map(|argument| {
            let environment = argument.get_env()?.to_str().unwrap().to_owned();
            let flag = argument.get_long().unwrap();
            let key = if flag == "config" { String::new() } else { flag.replace('-', "_") };
            Some(vec![key, environment, format!("--{flag}")])
        })
        .collect();
    told.sort_unstable();
    known.sort_unstable();
    assert_eq!(told, known);
}
