//! Who wins, and what is refused.

use super::{CacheMode, Config, Place, Serving, WriteMode};
use crate::store::DatabaseUrl;
use std::path::PathBuf;

fn file(text: &str) -> (tempfile::TempDir, Place) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shortlink.toml");
    std::fs::write(&path, text).unwrap();
    (folder, Place { config: Some(path), ..Place::default() })
}

#[test]
fn without_any_setting_the_data_folder_has_everything() {
    let config = Config::resolve(&Place::default(), &Serving::default()).unwrap();
    assert_eq!(config.listen, "127.0.0.1:8080");
    assert_eq!(config.database, DatabaseUrl::Sqlite(PathBuf::from("shortlink-data/links.db")));
    assert_eq!((config.redis, config.public_url, config.refuse_private, config.near), (None, None, false, None));
}

#[test]
fn a_flag_beats_the_file() {
    let (_folder, mut place) = file(
        "data = \"/srv/links\"\nlisten = \"127.0.0.1:1\"\nredis = \"redis://a\"\nrefuse_private = true\nnear = 5\n\
         write_mode = \"behind\"\n",
    );
    place.redis = Some("redis://b".to_owned());
    let serving = Serving { listen: Some("127.0.0.1:2".to_owned()), ..Serving::default() };
    let config = Config::resolve(&place, &serving).unwrap();
    assert_eq!(config.listen, "127.0.0.1:2");
    assert_eq!(config.redis.as_deref(), Some("redis://b"));
    assert_eq!(config.database, DatabaseUrl::Sqlite(PathBuf::from("/srv/links/links.db")));
    assert!(config.refuse_private);
    assert_eq!((config.consistency, config.write_mode), (CacheMode::Eventual, WriteMode::Behind));
    assert_eq!(config.near, Some(5));
    let serving = Serving { near: Some(0), ..serving };
    assert_eq!(Config::resolve(&place, &serving).unwrap().near, Some(0));
}

#[test]
fn wrong_settings_are_one_sentence() {
    let check = |place: &Place, serving: &Serving, expected: &str| {
        let why = format!("{:#}", Config::resolve(place, serving).unwrap_err());
        assert!(why.contains(expected) && !why.contains('\n'), "{why}");
    };
    let database = |url: &str| Place { database: Some(url.to_owned()), ..Place::default() };
    check(&database("oracle://x"), &Serving::default(), "expected mysql://");
    check(&database("sqlite::memory:"), &Serving::default(), "needs the path of a file");
    let public = Serving { public_url: Some("s.example.com".to_owned()), ..Serving::default() };
    check(&Place::default(), &public, "\"public_url\" is wrong");
    let near = Serving { near: Some(usize::MAX), ..Serving::default() };
    check(&Place::default(), &near, "\"near\" is wrong: at most 100000000 links");
    let strong = Place { consistency: Some(CacheMode::Strong), ..Place::default() };
    let behind = Serving { write_mode: Some(WriteMode::Behind), ..Serving::default() };
    check(&strong, &behind, "\"write_mode\" is wrong: a write that is answered before");
    let near = Serving { near: Some(5), ..Serving::default() };
    check(&strong, &near, "\"near\" is wrong: with strong consistency");
    let spool = Serving { spool_bytes_max: Some(1), ..Serving::default() };
    check(&Place::default(), &spool, "\"spool_bytes_max\" is wrong: it is at least 65536");
    let (_folder, place) = file("listen = 1\n");
    check(&place, &Serving::default(), "line 1: invalid type");
    let missing = Place { config: Some(PathBuf::from("/nowhere/at/all.toml")), ..Place::default() };
    check(&missing, &Serving::default(), "cannot read the settings file");
}

#[test]
fn a_database_is_shown_without_its_password() {
    let url: DatabaseUrl = "mysql://root:secret@127.0.0.1:3306/links?ssl-mode=disabled".parse().unwrap();
    assert_eq!(url.to_string(), "mysql://127.0.0.1:3306/links");
    assert_eq!(format!("{url:?}"), "DatabaseUrl(mysql://127.0.0.1:3306/links)");
}
