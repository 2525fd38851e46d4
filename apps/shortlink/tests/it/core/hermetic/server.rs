//! Import into and export from a running service.

use crate::core::program::{Workdir, last_event, sample};
use serde_json::json;

// shows: hazard S25
#[tokio::test]
async fn import_and_export_through_running_service() {
    let dir = Workdir::new();
    let (mut child, mut out) = dir.start(&["--listen", "127.0.0.1:0"]);
    let url = out.line().unwrap().trim_start_matches("listening on ").to_owned();
    let file = sample();
    let file = file.to_str().unwrap();
    let taken = dir.succeed(&["import", file, "--server", &url]);
    assert_eq!(taken, "2000 links: 2000 new, 0 already present, 0 rejected\n");
    let taken = dir.succeed(&["import", file, "--server", &url]);
    assert_eq!(taken, "2000 links: 0 new, 2000 already present, 0 rejected\n");

    let long = format!("https://example.com/{}", "\\\"".repeat(3_900));
    let rows: String = (0..40).map(|number| format!("{long}{number}\t\n")).collect();
    dir.write("odd.tsv", format!("target\tcode\n{rows}{url}/loop\t\nhttps://example.com/1\thealthz\nftp://x/\t\nhttps://a/\tone\nhttps://b/\tone\n"));
    let ended = dir.run(&["import", "odd.tsv", "--server", &url, "--json"]);
    let expected = json!({"event": "done", "rows": 45, "created": 41, "present": 0, "rejected": 4, "rows_before": 0, "rejected_file": "odd.tsv.rejected"});
    assert_eq!(last_event(&ended.out), expected, "{ended:?}");
    assert_eq!(ended.code, Some(1));
    let kept = dir.read("odd.tsv.rejected");
    for reason in ["points back to this service", "is reserved", "not ftp:", "the code one already has another target"]
    {
        assert!(kept.contains(reason), "{reason}: {kept}");
    }

    // Regression: a row above the body limit stopped the import for ever.
    let large = format!("target,note\n\"https://example.com/{}\",\nhttps://example.com/after,\n", "x".repeat(65_000));
    dir.write("large.csv", large);
    let ended = dir.run(&["import", "large.csv", "--server", &url]);
    assert_eq!(ended.out, "2 links: 1 new, 0 already present, 1 rejected, copied to large.csv.rejected\n", "{ended:?}");
    assert!(ended.err.contains("line 2: the URL has 65020 bytes; the limit is 8000"), "{}", ended.err);

    dir.succeed(&["export", "served.tsv", "--server", &url]);
    child.terminate().await.unwrap();
    dir.succeed(&["export", "stored.tsv"]);
    assert_eq!(dir.read("served.tsv"), dir.read("stored.tsv"));
    let why = dir.refuse(&["import", "odd.tsv", "--server", &url]);
    assert!(why.contains(&format!("cannot reach the service at {url}/")), "{why}");
}

/// The write-ahead log stays small while the service runs, however much is written.
// shows: hazard S8a
#[tokio::test]
async fn sqlite_log_stays_small_whatever_is_imported() {
    let dir = Workdir::new();
    let (mut child, mut out) = dir.start(&["--listen", "127.0.0.1:0"]);
    let url = out.line().unwrap().trim_start_matches("listening on ").to_owned();
    let long = "x".repeat(7_800);
    let rows: String = (0..1_800).map(|number| format!("https://example.com/{number}/{long}\n")).collect();
    dir.write("many.tsv", format!("target\n{rows}"));
    dir.succeed(&["import", "many.tsv", "--server", &url]);
    let bytes = |name: &str| std::fs::metadata(dir.path(name)).unwrap().len();
    let (database, log) = (bytes("shortlink-data/links.db"), bytes("shortlink-data/links.db-wal"));
    assert!(database > 4 << 20 && log < 12 << 20, "{database} bytes, and {log} of the log");
    child.terminate().await.unwrap();
}
