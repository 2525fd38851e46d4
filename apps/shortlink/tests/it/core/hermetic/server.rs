//! Import into and export from a running service.

use crate::core::program::{Place, last_event, sample};
use serde_json::json;

#[tokio::test]
async fn a_running_service_takes_and_gives_rows() {
    let place = Place::new();
    let (mut child, mut out) = place.start(&["--listen", "127.0.0.1:0"]);
    let url = out.line().unwrap().trim_start_matches("listening on ").to_owned();
    let file = sample();
    let file = file.to_str().unwrap();
    let taken = place.succeed(&["import", file, "--server", &url]);
    assert_eq!(taken, "2000 links: 2000 new, 0 there already, 0 rejected\n");
    let taken = place.succeed(&["import", file, "--server", &url]);
    assert_eq!(taken, "2000 links: 0 new, 2000 there already, 0 rejected\n");

    let long = format!("https://example.com/{}", "\\\"".repeat(3_900));
    let rows: String = (0..40).map(|number| format!("{long}{number}\t\n")).collect();
    place.write("odd.tsv", format!("target\tcode\n{rows}{url}/loop\t\nhttps://example.com/1\thealthz\nftp://x/\t\nhttps://a/\tone\nhttps://b/\tone\n"));
    let ended = place.run(&["import", "odd.tsv", "--server", &url, "--json"]);
    let expected = json!({"event": "done", "rows": 45, "created": 41, "present": 0, "rejected": 4, "rejected_file": "odd.tsv.rejected"});
    assert_eq!(last_event(&ended.out), expected, "{ended:?}");
    assert_eq!(ended.code, Some(1));
    let kept = place.read("odd.tsv.rejected");
    for reason in ["leads back to this service", "is reserved", "not to ftp:", "the code one leads elsewhere already"] {
        assert!(kept.contains(reason), "{reason}: {kept}");
    }

    place.succeed(&["export", "served.tsv", "--server", &url]);
    child.terminate().await.unwrap();
    place.succeed(&["export", "stored.tsv"]);
    assert_eq!(place.read("served.tsv"), place.read("stored.tsv"));
    let why = place.refuse(&["import", "odd.tsv", "--server", &url]);
    assert!(why.contains(&format!("cannot reach the service at {url}/")), "{why}");
}

/// However much is written, the log beside the database stays small while the service runs.
#[tokio::test]
async fn sqlite_log_stays_small_whatever_is_imported() {
    let place = Place::new();
    let (mut child, mut out) = place.start(&["--listen", "127.0.0.1:0"]);
    let url = out.line().unwrap().trim_start_matches("listening on ").to_owned();
    let long = "x".repeat(7_800);
    let rows: String = (0..1_800).map(|number| format!("https://example.com/{number}/{long}\n")).collect();
    place.write("many.tsv", format!("target\n{rows}"));
    place.succeed(&["import", "many.tsv", "--server", &url]);
    let bytes = |name: &str| std::fs::metadata(place.path(name)).unwrap().len();
    let (database, log) = (bytes("shortlink-data/links.db"), bytes("shortlink-data/links.db-wal"));
    assert!(database > 4 << 20 && log < 12 << 20, "{database} bytes, and {log} of the log");
    child.terminate().await.unwrap();
}
