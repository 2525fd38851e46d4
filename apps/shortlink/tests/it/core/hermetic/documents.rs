//! Documents that must match the program.

use clap::CommandFactory;
use shortlink::config::Flags;
use std::path::Path;
use web::documents::{documented_settings, settings};

/// docs/config.md has a row for every setting, and no other.
#[test]
fn every_setting_has_a_row_in_config_md() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(documented_settings(&page, "shortlink"), settings(&Flags::command()));
}
