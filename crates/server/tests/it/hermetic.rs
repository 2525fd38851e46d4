//! What needs no server: help, bad input, files.

use crate::program::{evenkeel, normal};

#[test]
fn help_is_what_the_documents_show() {
    insta::assert_snapshot!("help", evenkeel(&["--help"]).out);
    insta::assert_snapshot!("help_doctor", evenkeel(&["doctor", "--help"]).out);
    insta::assert_snapshot!("help_inbox", evenkeel(&["inbox", "--help"]).out);
    insta::assert_snapshot!("help_lock", evenkeel(&["lock", "--help"]).out);
    insta::assert_snapshot!("help_outbox", evenkeel(&["outbox", "--help"]).out);
    insta::assert_snapshot!("help_queue", evenkeel(&["queue", "--help"]).out);
}

#[test]
fn the_version_is_the_packages() {
    let ran = evenkeel(&["--version"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, concat!("evenkeel ", env!("CARGO_PKG_VERSION"), "\n")));
}

#[test]
fn bad_input_is_one_sentence_and_exit_2() {
    let ran = evenkeel(&["doctor", "http://user:hidden@example.org/"]);
    let sentence =
        "argument 1 is no address doctor knows: write redis://, rediss://, mysql://, postgres:// or sqlite:\n";
    assert_eq!((ran.code, ran.err.as_str(), ran.out.as_str()), (2, sentence, ""));
    assert_eq!(evenkeel(&["doctor"]).code, 2);
    assert_eq!(evenkeel(&["doctor", "redis://localhost:99999999"]).code, 2);
}

#[test]
fn nobody_listening_is_exit_2_and_shows_no_password() {
    // Port 1 is reserved, and nobody listens on it.
    let urls = ["redis://u:hidden@127.0.0.1:1", "mysql://u:hidden@127.0.0.1:1/d", "postgres://u:hidden@127.0.0.1:1/d"];
    for url in urls {
        let ran = evenkeel(&["doctor", url]);
        assert_eq!(ran.code, 2, "{}", ran.out);
        assert!(ran.out.contains("FAIL  reach"), "{}", ran.out);
        assert!(!ran.out.contains("hidden") && !ran.err.contains("hidden"), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn a_new_file_and_a_used_one_are_fine() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("links.db");
    let url = format!("sqlite:{}", file.display());
    let ran = evenkeel(&["doctor", &url]);
    assert_eq!(ran.code, 0);
    assert!(!file.exists(), "doctor makes no files");
    insta::assert_snapshot!("sqlite_absent", ran.out.replace(&url, "sqlite:FILE"));

    std::fs::File::create(&file).unwrap();
    let ran = evenkeel(&["doctor", &url]);
    assert_eq!(ran.code, 0);
    insta::assert_snapshot!("sqlite_empty", normal(&ran.out));
}

#[test]
fn a_missing_folder_is_named() {
    let ran = evenkeel(&["doctor", "sqlite:no-such-folder/links.db"]);
    assert_eq!(ran.code, 2);
    insta::assert_snapshot!("sqlite_no_folder", ran.out);
}
