//! Precedence of the sources, and invalid settings.

use super::{CacheMode, CommonFlags, Config, ServeFlags, WriteMode};
use crate::store::DatabaseUrl;
use std::path::PathBuf;

fn file(text: &str) -> (tempfile::TempDir, CommonFlags) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shortlink.toml");
    std::fs::write(&path, text).unwrap();
    (folder, CommonFlags { config: Some(path), ..CommonFlags::default() })
}

#[test]
fn defaults_use_data_folder() {
    let config = Config::resolve(&CommonFlags::default(), &ServeFlags::default()).unwrap();
    assert_eq!(config.listen, "127.0.0.1:8080");
    assert_eq!(config.database, DatabaseUrl::Sqlite(PathBuf::from("shortlink-data/links.db")));
    assert_eq!((config.redis, config.public_url, config.refuse_private, config.near), (None, None, false, None));
}

#[test]
fn flag_overrides_settings_file() {
    let (_folder, mut common) = file(
        "data = \"/srv/links\"\nlisten = \"127.0.0.1:1\"\nredis = \"redis://a\"\nrefuse_private = true\nnear = 5\n\
         write_mode = \"behind\"\n",
    );
    common.redis = Some("redis://b".to_owned());
    let serve = ServeFlags { listen: Some("127.0.0.1:2".to_owned()), ..ServeFlags::default() };
    let config = Config::resolve(&common, &serve).unwrap();
    assert_eq!(config.listen, "127.0.0.1:2");
    assert_eq!(config.redis.as_deref(), Some("redis://b"));
    assert_eq!(config.database, DatabaseUrl::Sqlite(PathBuf::from("/srv/links/links.db")));
    assert!(config.refuse_private);
    common.refuse_private = Some(false);
    assert!(!Config::resolve(&common, &serve).unwrap().refuse_private);
    assert_eq!((config.consistency, config.write_mode), (CacheMode::Eventual, WriteMode::Behind));
    assert_eq!(config.near, Some(5));
    let serve = ServeFlags { near: Some(0), ..serve };
    assert_eq!(Config::resolve(&common, &serve).unwrap().near, Some(0));
}

// shows: hazard S31
#[test]
fn wrong_settings_are_one_sentence() {
    let check = |common: &CommonFlags, serve: &ServeFlags, expected: &str| {
        let why = format!("{:#}", Config::resolve(common, serve).unwrap_err());
        assert!(why.contains(expected) && !why.contains('\n'), "{why}");
    };
    let database = |url: &str| CommonFlags { database: Some(url.to_owned()), ..CommonFlags::default() };
    check(&database("oracle://x"), &ServeFlags::default(), "expected mysql://");
    check(&database("sqlite::memory:"), &ServeFlags::default(), "the path of the file is missing");
    for url in [
        "s.example.com",
        "ftp://s.example.com",
        "https://s.example.com/go",
        "https://s.example.com/?a=b",
        "https://s.example.com/#a",
        "https://user@s.example.com",
        "https://:secret@s.example.com",
    ] {
        let public = CommonFlags { public_url: Some(url.to_owned()), ..CommonFlags::default() };
        check(&public, &ServeFlags::default(), "\"public_url\" is wrong");
    }
    let near = ServeFlags { near: Some(usize::MAX), ..ServeFlags::default() };
    check(&CommonFlags::default(), &near, "\"near\" is wrong: the maximum is 100000000 links");
    let strong = CommonFlags { consistency: Some(CacheMode::Strong), ..CommonFlags::default() };
    let behind = ServeFlags { write_mode: Some(WriteMode::Behind), ..ServeFlags::default() };
    check(&strong, &behind, "\"write_mode\" is wrong: strong consistency needs \"through\"");
    let near = ServeFlags { near: Some(5), ..ServeFlags::default() };
    check(&strong, &near, "\"near\" is wrong: strong consistency excludes");
    let spool = ServeFlags { spool_bytes_max: Some(1), ..ServeFlags::default() };
    check(&CommonFlags::default(), &spool, "\"spool_bytes_max\" is wrong: the minimum is 65536 bytes");
    let (_folder, common) = file("listen = 1\n");
    check(&common, &ServeFlags::default(), "line 1: invalid type");
    let missing = CommonFlags { config: Some(PathBuf::from("/nowhere/at/all.toml")), ..CommonFlags::default() };
    check(&missing, &ServeFlags::default(), "cannot read the settings file");
}

#[test]
fn database_url_is_shown_without_password() {
    let url: DatabaseUrl = "mysql://root:secret@127.0.0.1:3306/links?ssl-mode=disabled".parse().unwrap();
    assert_eq!(url.to_string(), "mysql://127.0.0.1:3306/links");
    assert_eq!(format!("{url:?}"), "DatabaseUrl(mysql://127.0.0.1:3306/links)");
}
