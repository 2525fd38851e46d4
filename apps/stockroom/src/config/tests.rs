//! Precedence and validation of settings.

use super::{Config, HttpFlags, ServerFlags, StockFlags};
use crate::domain::Strategy;
use std::path::PathBuf;
use web::DatabaseUrl;

fn file(text: &str) -> (tempfile::TempDir, ServerFlags) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stockroom.toml");
    std::fs::write(&path, text).unwrap();
    (folder, ServerFlags { config: Some(path), ..ServerFlags::default() })
}

fn resolve(servers: &ServerFlags, stock: &StockFlags) -> anyhow::Result<Config> {
    Config::resolve(servers, &HttpFlags::default(), stock)
}

#[test]
fn defaults_use_the_data_folder() {
    let config = resolve(&ServerFlags::default(), &StockFlags::default()).unwrap();
    assert_eq!(config.listen, "127.0.0.1:8081");
    assert_eq!(config.database, DatabaseUrl::Sqlite(PathBuf::from("stockroom-data/stock.db")));
    assert_eq!((config.redis, config.cap, config.segments, config.stripes), (None, 1_000, 8, 16));
    assert_eq!((config.strategy, config.allow_unfenced), (Strategy::ConditionalUpdate, false));
}

#[test]
fn flag_overrides_the_settings_file() {
    let (_folder, mut servers) = file(
        "data = \"/srv/stock\"\nredis = \"redis://a\"\ncap = 50\nstrategy = \"optimistic\"\ntime_zone = \"Europe/Berlin\"\n",
    );
    servers.redis = Some("redis://b".to_owned());
    let stock = StockFlags { strategy: Some("segmented".to_owned()), ..StockFlags::default() };
    let config = resolve(&servers, &stock).unwrap();
    assert_eq!(config.redis.as_deref(), Some("redis://b"));
    assert_eq!(config.database, DatabaseUrl::Sqlite(PathBuf::from("/srv/stock/stock.db")));
    assert_eq!((config.cap, config.strategy), (50, Strategy::Segmented));
}

#[test]
fn invalid_setting_is_reported_in_one_line() {
    let check = |stock: StockFlags, expected: &str| {
        let error = format!("{:#}", resolve(&ServerFlags::default(), &stock).unwrap_err());
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    };
    let of = StockFlags::default;
    check(StockFlags { cap: Some(0), ..of() }, "\"cap\" is wrong: 0 is not between 1 and");
    check(StockFlags { segments: Some(65), ..of() }, "\"segments\" is wrong: 65 is not between 1 and 64");
    check(StockFlags { time_zone: Some("Mars/Base".to_owned()), ..of() }, "\"Mars/Base\" is not a time zone such as");
    check(
        StockFlags { strategy: Some("luck".to_owned()), ..of() },
        "unknown strategy \"luck\"; available: optimistic,",
    );
    check(StockFlags { strategy: Some("unfenced".to_owned()), ..of() }, "unfenced loses changes");
    let (_folder, servers) = file("cap = \"many\"\n");
    let error = format!("{:#}", resolve(&servers, &of()).unwrap_err());
    assert!(error.contains("line 1: invalid type"), "{error}");
}
