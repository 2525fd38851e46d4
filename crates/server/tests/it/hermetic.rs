//! Tests without a server: help, invalid input, files.

use crate::program::{evenkeel, normal};

#[test]
fn help_matches_snapshots() {
    insta::assert_snapshot!("help", evenkeel(&["--help"]).out);
    insta::assert_snapshot!("help_doctor", evenkeel(&["doctor", "--help"]).out);
    insta::assert_snapshot!("help_inbox", evenkeel(&["inbox", "--help"]).out);
    insta::assert_snapshot!("help_lock", evenkeel(&["lock", "--help"]).out);
    insta::assert_snapshot!("help_outbox", evenkeel(&["outbox", "--help"]).out);
    insta::assert_snapshot!("help_queue", evenkeel(&["queue", "--help"]).out);
}

#[test]
fn version_is_the_package_version() {
    let ran = evenkeel(&["--version"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, concat!("evenkeel ", env!("CARGO_PKG_VERSION"), "\n")));
}

#[test]
fn invalid_input_is_one_line_and_exit_code_2() {
    let ran = evenkeel(&["doctor", "http://user:hidden@example.org/"]);
    let error = "argument 1 is not a supported address: use redis://, rediss://, mysql://, postgres:// or sqlite:\n";
    assert_eq!((ran.code, ran.err.as_str(), ran.out.as_str()), (2, error, ""));
    assert_eq!(evenkeel(&["doctor"]).code, 2);
    assert_eq!(evenkeel(&["doctor", "redis://localhost:99999999"]).code, 2);
}

#[test]
fn unreachable_server_is_exit_code_2_without_password() {
    // Port 1 is reserved; no server listens there.
    let urls = ["redis://u:hidden@127.0.0.1:1", "mysql://u:hidden@127.0.0.1:1/d", "postgres://u:hidden@127.0.0.1:1/d"];
    for url in urls {
        let ran = evenkeel(&["doctor", url]);
        assert_eq!(ran.code, 2, "{}", ran.out);
        assert!(ran.out.contains("FAIL  connect"), "{}", ran.out);
        assert!(!ran.out.contains("hidden") && !ran.err.contains("hidden"), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn missing_and_empty_sqlite_files_pass() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("links.db");
    let url = format!("sqlite:{}", file.display());
    let ran = evenkeel(&["doctor", &url]);
    assert_eq!(ran.code, 0);
    assert!(!file.exists(), "doctor creates no files");
    insta::assert_snapshot!("sqlite_absent", ran.out.replace(&url, "sqlite:FILE"));

    std::fs::File::create(&file).unwrap();
    let ran = evenkeel(&["doctor", &url]);
    assert_eq!(ran.code, 0);
    insta::assert_snapshot!("sqlite_empty", normal(&ran.out));
}

#[test]
fn missing_folder_fails() {
    let ran = evenkeel(&["doctor", "sqlite:no-such-folder/links.db"]);
    assert_eq!(ran.code, 2);
    insta::assert_snapshot!("sqlite_no_folder", ran.out);
}
