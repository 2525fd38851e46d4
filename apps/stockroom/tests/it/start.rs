//! How the program starts, and what keeps it from starting.

use super::server::Server;
use std::process::Command;

fn run(folder: &std::path::Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_stockroom")).current_dir(folder).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn help_tells_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let told = |arguments: &[&str]| {
        let (code, out, err) = run(folder.path(), arguments);
        assert_eq!(code, Some(0), "{err}");
        out
    };
    insta::assert_snapshot!("help", told(&["--help"]));
    insta::assert_snapshot!("help_load", told(&["load", "--help"]));
    assert_eq!(told(&["--version"]), format!("stockroom {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn what_is_wrong_at_the_start_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wrong.toml"), "listen = \"127.0.0.1:0\"\nlissen = 1\n").unwrap();
    for (arguments, why) in [
        (&["--frobnicate"][..], "unexpected argument '--frobnicate' found"),
        (&["--listen", "nonsense"], "cannot listen on nonsense: "),
        (
            &["--database", "sqlite:no/folder/x.db"],
            "the folder no/folder of the database sqlite:no/folder/x.db does not exist",
        ),
        (&["--config", "gone.toml"], "cannot read the settings file gone.toml: "),
        (&["--config", "wrong.toml"], "wrong.toml, line 2: unknown field `lissen`"),
        (&["--database", "oracle:x"], "the setting \"database\" is wrong: a database is given as mysql://"),
        (&["--strategy", "unfenced"], "the setting \"strategy\" is wrong: unfenced loses changes"),
        (&["--stripes", "0"], "the setting \"stripes\" is wrong"),
    ] {
        let listen = if arguments.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] };
        let (code, out, err) = run(folder.path(), &[listen, arguments].concat());
        assert_eq!((code, out.as_str(), err.lines().count()), (Some(2), "", 1), "{arguments:?}: {err}");
        assert!(err.starts_with("stockroom: ") && err.contains(why) && !err.contains("secret"), "{err}");
    }
}

#[tokio::test]
async fn a_data_folder_in_use_is_refused() {
    let server = Server::start();
    let data = server.folder().join("data");
    let (code, _, err) = run(server.folder(), &["--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains(&format!("cannot serve it: it answers at http://{}", server.client.address)), "{err}");
}
