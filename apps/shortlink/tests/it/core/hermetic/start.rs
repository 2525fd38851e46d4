//! Help, the first output line, and errors at the start.

use crate::core::program::Workdir;
use std::net::TcpListener;

// shows: hazard T21
#[test]
fn help_matches_snapshots() {
    let dir = Workdir::new();
    insta::assert_snapshot!("help", dir.succeed(&["--help"]));
    insta::assert_snapshot!("help_serve", dir.succeed(&["serve", "--help"]));
    insta::assert_snapshot!("help_import", dir.succeed(&["import", "--help"]));
    insta::assert_snapshot!("help_export", dir.succeed(&["export", "--help"]));
    assert_eq!(dir.succeed(&["--version"]), format!("shortlink {}\n", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn first_output_line_names_listen_url() {
    let dir = Workdir::new();
    let (mut child, mut out) = dir.start(&["--listen", "127.0.0.1:0"]);
    let line = out.line().unwrap();
    let port = line.strip_prefix("listening on http://127.0.0.1:").unwrap();
    assert_ne!(port.parse::<u16>().unwrap(), 0);
    assert!(child.terminate().await.unwrap().success(), "{}", child.log_tail());
}

// shows: hazard S9, hazard S10, hazard S31
#[test]
fn start_errors_are_one_sentence() {
    let dir = Workdir::new();
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = busy.local_addr().unwrap().to_string();
    dir.write("file", "");
    dir.write("packed.tsv", b"\x1f\x8b\x08\x00\x1b[2J");
    dir.write("wrong.toml", "listen = \"127.0.0.1:0\"\nlissen = 1\n");
    for (arguments, why) in [
        (&["--frobnicate"][..], "unexpected argument '--frobnicate' found"),
        (&["frobnicate"], "unrecognized subcommand 'frobnicate'"),
        (&["import"], "required arguments were not provided: <FILE>"),
        (&["--listen", "nonsense"], "cannot listen on nonsense: "),
        (&["--listen", &busy], "cannot listen on 127.0.0.1:"),
        (&["--data", "file/below"], "cannot create the data folder file/below: "),
        (&["import", "packed.tsv"], "packed.tsv is compressed (gzip): decompress it first (gunzip -k packed.tsv)"),
        (
            &["--database", "sqlite:no/folder/x.db"],
            "the folder no/folder of the database sqlite:no/folder/x.db does not exist",
        ),
        (&["--database", "mysql://root@127.0.0.1:1"], "the name of the database is missing: expected mysql://"),
        (&["--config", "gone.toml"], "cannot read the settings file gone.toml: "),
        (&["--config", "wrong.toml"], "wrong.toml, line 2: unknown field `lissen`"),
        (&["--database", "oracle:x"], "the setting \"database\" is wrong: expected mysql://"),
        (&["--public-url", "x"], "the setting \"public_url\" is wrong"),
        // Before `serve`, options were ignored.
        (&["--listen", "nonsense", "serve"], "cannot listen on nonsense: "),
        (&["--near", "100000001", "serve"], "the setting \"near\" is wrong"),
        (&["--spool-bytes-max", "1", "serve"], "the setting \"spool_bytes_max\" is wrong"),
        (&["import", "file.tsv", "--near", "5"], "unexpected argument '--near' found"),
        (
            &["import", "file.tsv", "--database", "mysql://u:secret@127.0.0.1:1/x"],
            "cannot open the database mysql://127.0.0.1:1/x: ",
        ),
    ] {
        // The default port must not fail before the setting under test.
        let listen = if arguments.contains(&"--listen") || arguments[0] == "import" {
            &[][..]
        } else {
            &["--listen", "127.0.0.1:0"]
        };
        let reported = dir.refuse(&[listen, arguments].concat());
        assert!(reported.starts_with("shortlink: ") && reported.contains(why), "{reported}");
        assert!(!reported.contains("secret"), "{reported}");
    }
    assert!(!dir.path("no").exists(), "no folder was made for a database");
}

/// Two processes with embedded caches would not see each other's changes.
// shows: hazard S38
#[tokio::test]
async fn data_folder_in_use_is_refused_with_alternative() {
    let dir = Workdir::new();
    let (mut child, mut out) = dir.start(&["--listen", "127.0.0.1:0"]);
    let url = out.line().unwrap().trim_start_matches("listening on ").to_owned();
    dir.write("in.tsv", "target\nhttps://example.com/\n");
    let why = dir.refuse(&["import", "in.tsv"]);
    assert!(why.contains("is in use by another shortlink, so this one cannot import into it"), "{why}");
    assert!(why.ends_with(&format!("shortlink import in.tsv --server {url} imports into it while it runs")), "{why}");
    assert!(dir.refuse(&["--listen", "127.0.0.1:0"]).ends_with(&format!("cannot serve it: it answers at {url}")));
    assert_eq!(
        dir.succeed(&["export", "out.tsv"]),
        "0 links written to out.tsv\n",
        "an export can read a data folder in use"
    );
    // Regression: through a symbolic link the database was another file, and a second service ran on it.
    std::os::unix::fs::symlink("shortlink-data/links.db", dir.path("link.db")).unwrap();
    let why = dir.refuse(&["--listen", "127.0.0.1:0", "--database", "sqlite:link.db"]);
    assert!(why.ends_with(&format!("cannot serve it: it answers at {url}")), "{why}");
    child.terminate().await.unwrap();
    dir.succeed(&["import", "in.tsv"]);
}

/// Regression: a signal had no effect while the start waited for a lock or a server.
// shows: hazard S37
#[tokio::test]
async fn start_that_waits_for_a_server_can_be_stopped() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    for server in [["--database", "mysql://root@"], ["--database", "postgres://root@"], ["--redis", "redis://"]] {
        let url = format!("{}{address}/1", server[1]);
        let dir = Workdir::new();
        let (mut child, mut out) = dir.start(&["--listen", "127.0.0.1:0", server[0], &url]);
        let connection = silent.accept().unwrap();
        assert!(child.terminate().await.unwrap().success(), "{}", child.log_tail());
        assert_eq!(out.line(), None, "it ended before it listened: {server:?}");
        drop(connection);
    }
}
