//! How the program starts, and what keeps it from starting.

use crate::core::program::Place;
use std::net::TcpListener;

#[test]
fn help_tells_what_there_is() {
    let place = Place::new();
    insta::assert_snapshot!("help", place.succeed(&["--help"]));
    insta::assert_snapshot!("help_serve", place.succeed(&["serve", "--help"]));
    insta::assert_snapshot!("help_import", place.succeed(&["import", "--help"]));
    insta::assert_snapshot!("help_export", place.succeed(&["export", "--help"]));
    assert_eq!(place.succeed(&["--version"]), format!("shortlink {}\n", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn the_first_line_tells_where_it_listens() {
    let place = Place::new();
    let (mut child, mut out) = place.start(&["--listen", "127.0.0.1:0"]);
    let line = out.line().unwrap();
    let port = line.strip_prefix("listening on http://127.0.0.1:").unwrap();
    assert_ne!(port.parse::<u16>().unwrap(), 0);
    assert!(child.terminate().await.unwrap().success(), "{}", child.log_tail());
}

#[test]
fn what_is_wrong_at_the_start_is_one_sentence() {
    let place = Place::new();
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = busy.local_addr().unwrap().to_string();
    place.write("file", "");
    place.write("packed.tsv", b"\x1f\x8b\x08\x00\x1b[2J");
    place.write("wrong.toml", "listen = \"127.0.0.1:0\"\nlissen = 1\n");
    for (arguments, why) in [
        (&["--frobnicate"][..], "unexpected argument '--frobnicate' found"),
        (&["frobnicate"], "unrecognized subcommand 'frobnicate'"),
        (&["import"], "required arguments were not provided: <FILE>"),
        (&["--listen", "nonsense"], "cannot listen on nonsense: "),
        (&["--listen", &busy], "cannot listen on 127.0.0.1:"),
        (&["--data", "file/below"], "cannot create the data folder file/below: "),
        (&["import", "packed.tsv"], "packed.tsv is compressed (gzip): unpack it first (gunzip -k packed.tsv)"),
        (
            &["--database", "sqlite:no/folder/x.db"],
            "the folder no/folder of the database sqlite:no/folder/x.db does not exist",
        ),
        (&["--database", "mysql://root@127.0.0.1:1"], "a database server's address ends with the name of a database"),
        (&["--config", "gone.toml"], "cannot read the settings file gone.toml: "),
        (&["--config", "wrong.toml"], "wrong.toml, line 2: unknown field `lissen`"),
        (&["--database", "oracle:x"], "the setting \"database\" is wrong: expected mysql://"),
        (&["--public-url", "x"], "the setting \"public_url\" is wrong"),
        (
            &["import", "file.tsv", "--database", "mysql://u:secret@127.0.0.1:1/x"],
            "cannot open the database mysql://127.0.0.1:1/x: ",
        ),
    ] {
        // A setting that is not the one under test must not fail first.
        let listen = if arguments.contains(&"--listen") || arguments[0] == "import" {
            &[][..]
        } else {
            &["--listen", "127.0.0.1:0"]
        };
        let told = place.refuse(&[listen, arguments].concat());
        assert!(told.starts_with("shortlink: ") && told.contains(why), "{told}");
        assert!(!told.contains("secret"), "{told}");
    }
    assert!(!place.path("no").exists(), "no folder was made for a database");
}

/// Two processes with a cache inside each would not see each other's changes.
#[tokio::test]
async fn a_data_folder_in_use_is_refused_with_what_to_do_instead() {
    let place = Place::new();
    let (mut child, mut out) = place.start(&["--listen", "127.0.0.1:0"]);
    let url = out.line().unwrap().trim_start_matches("listening on ").to_owned();
    place.write("in.tsv", "target\nhttps://example.com/\n");
    let why = place.refuse(&["import", "in.tsv"]);
    assert!(why.contains("is in use by another shortlink, so this one cannot import into it"), "{why}");
    assert!(why.ends_with(&format!("shortlink import in.tsv --server {url} imports into it while it runs")), "{why}");
    assert!(place.refuse(&["--listen", "127.0.0.1:0"]).ends_with(&format!("cannot serve it: it answers at {url}")));
    assert_eq!(place.succeed(&["export", "out.tsv"]), "0 links written to out.tsv\n", "reading disturbs nobody");
    child.terminate().await.unwrap();
    place.succeed(&["import", "in.tsv"]);
}
