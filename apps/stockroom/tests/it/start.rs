//! Help, and errors at the start.

use super::support::server::Server;
use clap::CommandFactory;
use sqlx::{Connection, PgConnection};
use std::path::Path;
use std::process::Command;
use stockroom::config::Flags;
use testkit::park::{postgres_database, redis};

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    run_in(folder, &[], arguments)
}

fn run_in(folder: &Path, environment: &[(&str, &str)], arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stockroom"));
    let output = command.current_dir(folder).envs(environment.iter().copied()).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn help_matches_its_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let help = |arguments: &[&str]| {
        let (code, out, err) = run(folder.path(), arguments);
        assert_eq!(code, Some(0), "{err}");
        out
    };
    insta::assert_snapshot!("help", help(&["--help"]));
    insta::assert_snapshot!("help_load", help(&["load", "--help"]));
    assert_eq!(help(&["--version"]), format!("stockroom {}\n", env!("CARGO_PKG_VERSION")));
}

// shows: hazard S34
#[test]
fn startup_error_is_reported_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wrong.toml"), "listen = \"127.0.0.1:0\"\nlissen = 1\n").unwrap();
    for (arguments, expected) in [
        (&["--frobnicate"][..], "unexpected argument '--frobnicate' found"),
        (&["--listen", "nonsense"], "cannot listen on nonsense: "),
        (
            &["--database", "sqlite:no/folder/x.db"],
            "the folder no/folder of the database sqlite:no/folder/x.db does not exist",
        ),
        (&["--config", "gone.toml"], "cannot read the settings file gone.toml: "),
        (&["--config", "wrong.toml"], "wrong.toml, line 2: unknown field `lissen`"),
        (&["--database", "oracle:x"], "the setting \"database\" is wrong: expected mysql://"),
        (&["--strategy", "unfenced"], "the setting \"strategy\" is wrong: unfenced loses changes"),
        (&["--stripes", "0"], "the setting \"stripes\" is wrong"),
        // Before `serve`, options were ignored.
        (&["--listen", "nonsense", "serve"], "cannot listen on nonsense: "),
        (&["--cap", "0", "serve"], "the setting \"cap\" is wrong"),
        (&["--cap", "5", "load"], "the command 'load' has no option '--cap'"),
        (&["--allow-unfenced=perhaps"], "invalid value 'perhaps' for '--allow-unfenced"),
        (&["--public-url", "https://stock.example.com/app"], "the setting \"public_url\" is wrong"),
    ] {
        let has_listen = arguments.contains(&"--listen") || arguments.contains(&"load");
        let listen = if has_listen { &[][..] } else { &["--listen", "127.0.0.1:0"] };
        let (code, out, err) = run(folder.path(), &[listen, arguments].concat());
        assert_eq!((code, out.as_str(), err.lines().count()), (Some(2), "", 1), "{arguments:?}: {err}");
        assert!(err.starts_with("stockroom: ") && err.contains(expected) && !err.contains("secret"), "{err}");
    }
}

/// Regression: the tables were created first, and the error was hidden below the log of the migrations.
// shows: hazard S18
#[tokio::test]
async fn redis_error_is_reported_before_tables_are_created() {
    let (postgres, redis) = (postgres_database().await.unwrap(), redis().await.unwrap());
    let wrong = redis.url.replace("redis://", "redis://nobody:wrong@");
    let folder = tempfile::tempdir().unwrap();
    for (setting, expected) in [
        ("--redis", "cannot use Redis: Redis refused: WRONGPASS"),
        ("--redlock", "cannot use the servers for redlock: Redis refused: WRONGPASS"),
    ] {
        let arguments = ["--listen", "127.0.0.1:0", "--database", &postgres.url, setting, &wrong];
        let (code, out, err) = run(folder.path(), &arguments);
        assert_eq!((code, out.as_str(), err.lines().count()), (Some(2), "", 1), "{err}");
        assert!(err.starts_with("stockroom: ") && err.contains(expected), "{err}");
    }
    let mut connection = PgConnection::connect(&postgres.url).await.unwrap();
    let tables = sqlx::query_scalar::<_, i64>("SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()");
    assert_eq!(tables.fetch_one(&mut connection).await.unwrap(), 0);
}

#[tokio::test]
async fn data_folder_in_use_is_rejected() {
    let server = Server::start();
    let data = server.folder().join("data");
    let (code, _, err) = run(server.folder(), &["--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains(&format!("cannot serve it: it answers at http://{}", server.client.address)), "{err}");
}

/// Each setting with a wrong value, as it is written in the settings file, and what its error says.
const WRONG: [(&str, &str, &str, &str); 14] = [
    ("data", "file/below", "\"file/below\"", "file/below"),
    ("database", "oracle:x", "\"oracle:x\"", "the setting \"database\" is wrong"),
    ("redis", "ftp://x", "\"ftp://x\"", "the setting \"redis\" is wrong"),
    ("redlock", "ftp://x", "[\"ftp://x\"]", "redlock"),
    ("listen", "nonsense", "\"nonsense\"", "cannot listen on nonsense"),
    ("public_url", "x", "\"x\"", "the setting \"public_url\" is wrong"),
    ("otlp", "nonsense", "\"nonsense\"", "otlp"),
    ("time_zone", "Mars/Olympus", "\"Mars/Olympus\"", "the setting \"time_zone\" is wrong"),
    ("cap", "0", "0", "the setting \"cap\" is wrong"),
    ("segments", "0", "0", "the setting \"segments\" is wrong"),
    ("stripes", "0", "0", "the setting \"stripes\" is wrong"),
    ("strategy", "hope", "\"hope\"", "the setting \"strategy\" is wrong"),
    ("allow_unfenced", "perhaps", "\"perhaps\"", "perhaps"),
    ("pay_within", "0", "0", "the setting \"pay_within\" is wrong"),
];

/// Regression: settings did not reach the service from before `serve`. A setting that is added is added here, or this fails.
// shows: hazard S34
#[test]
fn every_setting_reaches_the_service_from_every_source() {
    let folder = tempfile::tempdir().unwrap();
    let command = Flags::command();
    let variables = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str());
    let mut names: Vec<String> = variables.map(|name| name.trim_start_matches("STOCKROOM_").to_lowercase()).collect();
    names.retain(|name| name != "config");
    let mut listed = WRONG.map(|(name, ..)| name);
    names.sort();
    listed.sort();
    assert_eq!(names, listed);
    std::fs::write(folder.path().join("file"), "").unwrap();
    for (name, value, in_file, expected) in WRONG {
        std::fs::write(folder.path().join("wrong.toml"), format!("{name} = {in_file}\n")).unwrap();
        let flag = format!("--{}={value}", name.replace('_', "-"));
        let variable = format!("STOCKROOM_{}", name.to_uppercase());
        let (flag, set) = ([flag.as_str()], [(variable.as_str(), value)]);
        let file = ["--config", "wrong.toml"];
        for (set, words) in [(&[][..], &flag[..]), (&set, &[]), (&[], &file)] {
            // Another port than that of a service on this machine.
            let listen = [("STOCKROOM_LISTEN", "127.0.0.1:0")];
            let environment = [if name == "listen" { &[][..] } else { &listen }, set].concat();
            for words in [words.to_vec(), [words, &["serve"]].concat(), [&["serve"][..], words].concat()] {
                let (code, _, err) = run_in(folder.path(), &environment, &words);
                let is_told = err.contains(expected) && err.lines().count() == 1;
                assert!(code == Some(2) && is_told, "{environment:?} {words:?}: {err}");
            }
        }
    }
}
