//! Files as spreadsheets and other services write them.

use crate::core::program::Workdir;

/// Regression: an export that a spreadsheet had saved was refused row by row (`FALSE`), or as a whole (`;`); with CR line ends it
/// imported nothing and succeeded; its byte order mark made the first row of the file of rejected lines invalid.
// shows: hazard S27
#[test]
fn export_saved_by_a_spreadsheet_is_imported() {
    let rows =
        ["code,target,alias,banned", "one,https://example.com/1,TRUE,FALSE", "bad,ftp://example.com/,FALSE,TRUE"];
    for (separator, end) in [(",", "\r\n"), (";", "\r\n"), ("\t", "\n"), (";", "\r"), (",", "\r")] {
        let dir = Workdir::new();
        let text: String = rows.iter().map(|row| row.replace(',', separator) + end).collect();
        dir.write("saved.csv", format!("\u{feff}{text}"));
        let ended = dir.run(&["import", "saved.csv"]);
        let expected = "2 links: 1 new, 0 already present, 1 rejected, copied to saved.csv.rejected\n";
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), expected), "{separator:?} {end:?}: {}", ended.err);
        let kept = dir.read("saved.csv.rejected");
        assert!(kept.starts_with("code"), "without the mark: {kept:?}");
        dir.write("saved.csv.rejected", kept.replace("ftp:", "https:"));
        dir.succeed(&["import", "saved.csv.rejected"]);
        let all = dir.succeed(&["export", "-", "--format", "csv"]);
        let all: Vec<_> = all.lines().skip(1).map(|line| line.split(",20").next().unwrap()).collect();
        assert_eq!(all, ["one,https://example.com/1,true,", "bad,https://example.com/,false,"], "{separator:?}");
        assert!(dir.read("saved.csv").contains("FALSE"));
    }
}

/// A file without a header line begins with the mark, too.
// shows: hazard S27
#[test]
fn byte_order_mark_is_not_in_rejected_lines() {
    let dir = Workdir::new();
    dir.write("in.tsv", "\u{feff}ftp://example.com/\n");
    assert_eq!(dir.run(&["import", "in.tsv", "--columns", "target"]).code, Some(1));
    let kept = dir.read("in.tsv.rejected");
    assert!(kept.ends_with("\nftp://example.com/\n") && !kept.contains('\u{feff}'), "{kept:?}");
}

// shows: hazard S27
#[test]
fn utf_16_file_is_refused_with_the_remedy() {
    let dir = Workdir::new();
    let utf_16: Vec<u8> = "\u{feff}target\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    dir.write("in.csv", utf_16);
    let why = dir.refuse(&["import", "in.csv"]);
    assert!(why.contains("in.csv is encoded as UTF-16: save it as UTF-8"), "{why}");
}

/// Regression: a file of another service, with its codes in the column `address`, was imported under new codes and succeeded: every
/// printed link was dead.
// shows: hazard S28
#[test]
fn column_that_looks_like_codes_stops_the_import() {
    for (name, text) in [
        ("a.csv", "address,target\nsale,https://example.com/1\naB3,https://example.com/2\n"),
        (
            "a.tsv",
            "target\taddress\nhttps://example.com/1\thttps://s.example/sale\nhttps://example.com/2\thttps://s.example/aB3\n",
        ),
        (
            "a.jsonl",
            "{\"target\":\"https://example.com/1\",\"address\":\"sale\"}\n{\"target\":\"https://example.com/2\",\"address\":\"aB3\"}\n",
        ),
    ] {
        let dir = Workdir::new();
        dir.write(name, text);
        let why = dir.refuse(&["import", name]);
        assert!(why.contains("the column \"address\" looks like codes: --code-column 'address'"), "{why}");
        assert!(why.contains("--new-codes"), "{why}");
        let codes = |database: &str| {
            let out = dir.succeed(&["export", "-", "--data", database]);
            let codes: Vec<_> = out.lines().skip(1).map(|line| line.split('\t').next().unwrap().to_owned()).collect();
            codes
        };
        let named = ["import", name, "--data", "named", "--code-column", "address"];
        assert_eq!(dir.succeed(&named), "2 links: 2 new, 0 already present, 0 rejected\n");
        assert_eq!(codes("named"), ["sale", "aB3"]);
        dir.succeed(&["import", name, "--data", "new", "--new-codes"]);
        assert!(codes("new").iter().all(|code| code.len() == 7), "{:?}", codes("new"));
        let missing = dir.run(&["import", name, "--data", "named", "--code-column", "adress"]);
        assert_ne!(missing.code, Some(0), "{missing:?}");
    }
}
