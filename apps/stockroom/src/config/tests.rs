//! Who wins, and what is refused.

use super::{Config, Place, Serving, Stocking};
use crate::domain::Strategy;
use std::path::PathBuf;
use web::DatabaseUrl;

fn file(text: &str) -> (tempfile::TempDir, Place) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stockroom.toml");
    std::fs::write(&path, text).unwrap();
    (folder, Place { config: Some(path), ..Place::default() })
}

fn resolve(place: &Place, stocking: &Stocking) -> anyhow::Result<Config> {
    Config::resolve(place, &Serving::default(), stocking)
}

#[test]
fn without_any_setting_the_data_folder_has_everything() {
    let config = resolve(&Place::default(), &Stocking::default()).unwrap();
    assert_eq!(config.listen, "127.0.0.1:8081");
    assert_eq!(config.database, DatabaseUrl::Sqlite(PathBuf::from("stockroom-data/stock.db")));
    assert_eq!((config.redis, config.cap, config.segments, config.stripes), (None, 1_000, 8, 16));
    assert_eq!((config.strategy, config.allow_unfenced), (Strategy::ConditionalUpdate, false));
}

#[test]
fn a_flag_beats_the_file() {
    let (_folder, mut place) = file(
        "data = \"/srv/stock\"\nredis = \"redis://a\"\ncap = 50\nstrategy = \"optimistic\"\ntime_zone = \"Europe/Berlin\"\n",
    );
    place.redis = Some("redis://b".to_owned());
    let stocking = Stocking { strategy: Some("segmented".to_owned()), ..Stocking::default() };
    let config = resolve(&place, &stocking).unwrap();
    assert_eq!(config.redis.as_deref(), Some("redis://b"));
    assert_eq!(config.database, DatabaseUrl::Sqlite(PathBuf::from("/srv/stock/stock.db")));
    assert_eq!((config.cap, config.strategy), (50, Strategy::Segmented));
}

#[test]
fn wrong_settings_are_one_sentence() {
    let check = |stocking: Stocking, expected: &str| {
        let why = format!("{:#}", resolve(&Place::default(), &stocking).unwrap_err());
        assert!(why.contains(expected) && !why.contains('\n'), "{why}");
    };
    let of = Stocking::default;
    check(Stocking { cap: Some(0), ..of() }, "\"cap\" is wrong: 0 is not between 1 and");
    check(Stocking { segments: Some(65), ..of() }, "\"segments\" is wrong: 65 is not between 1 and 64");
    check(Stocking { time_zone: Some("Mars/Base".to_owned()), ..of() }, "\"Mars/Base\" is no time zone like");
    check(
        Stocking { strategy: Some("luck".to_owned()), ..of() },
        "there is no strategy \"luck\"; there are optimistic,",
    );
    check(Stocking { strategy: Some("unfenced".to_owned()), ..of() }, "unfenced loses changes");
    let (_folder, place) = file("cap = \"many\"\n");
    let why = format!("{:#}", resolve(&place, &of()).unwrap_err());
    assert!(why.contains("line 1: invalid type"), "{why}");
}
