//! Documents that would drift.

use clap::CommandFactory;
use shortlink::config::Flags;
use std::path::Path;
use web::documents::{documented_settings, settings};

/// docs/config.md has a row for every setting, and no other.
#[test]
fn every_setting_has_its_row() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(documented_settings(&page, "shortlink"), settings(&Flags::command()));
}
