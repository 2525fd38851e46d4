//! Imports of rows that the database does not accept.

use super::program::{Workdir, last_event};
use anyhow::Result;
use serde_json::json;
use testkit::park::{Database, mariadb_database, postgres_latin1_database};

/// Rows in batches of 500; the database cannot store those of `refused`.
async fn import_reports_refused_lines(database: &Database, refused: &[usize], target: impl Fn(usize) -> String) {
    let dir = Workdir::new();
    let rows: Vec<String> = (1..=1_200).map(|line| format!("{}\tl-{line}", target(line))).collect();
    dir.write("in.tsv", format!("{}\n", rows.join("\n")));
    let arguments = ["import", "in.tsv", "--columns", "target,code", "--json", "--database", &database.url];
    let ended = dir.run(&arguments);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let count = refused.len();
    let expected = json!({"event": "done", "rows": 1_200, "created": 1_200 - count, "present": 0, "rejected": count,
        "rows_before": 0, "rejected_file": "in.tsv.rejected"});
    assert_eq!(last_event(&ended.out), expected, "{ended:?}");
    let kept = dir.read("in.tsv.rejected");
    let mut kept = kept.lines();
    for line in refused {
        let why = kept.next().unwrap();
        assert!(why.starts_with(&format!("# line {line}: the database does not accept this row: ")), "{why}");
        assert_eq!(kept.next(), Some(rows[line - 1].as_str()));
    }
    assert_eq!(kept.next(), None);
    let again = last_event(&dir.run(&arguments).out);
    assert_eq!((&again["created"], &again["rejected"]), (&json!(0), &json!(count)));
}

/// Regression: the first such row ended the import, whenever it was repeated, without the number of its line.
// shows: hazard T4
#[tokio::test]
async fn rows_that_an_encoding_lacks_are_rejected_lines() -> Result<()> {
    let refused = [1, 499, 500, 501, 702, 1_200];
    let target = |line| {
        let last = if refused.contains(&line) { "\u{1f600}" } else { "M\u{fc}ller" };
        format!("https://example.com/{line}/{last}")
    };
    import_reports_refused_lines(&postgres_latin1_database().await?, &refused, target).await;
    Ok(())
}

/// As above, by a trigger, whose error is of no class.
// shows: hazard T4
#[tokio::test]
async fn rows_that_a_trigger_refuses_are_rejected_lines() -> Result<()> {
    use sqlx::{Connection, MySqlConnection};
    let database = mariadb_database().await?;
    let dir = Workdir::new();
    dir.write("first.tsv", "target\tcode\nhttps://example.com/first\tfirst\n");
    dir.succeed(&["import", "first.tsv", "--database", &database.url]);
    let trigger = "CREATE TRIGGER house BEFORE INSERT ON links FOR EACH ROW IF NEW.target LIKE '%/bad/%' THEN \
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not in this house'; END IF";
    sqlx::raw_sql(trigger).execute(&mut MySqlConnection::connect(&database.url).await?).await?;
    let refused = [7, 8];
    let target = |line| format!("https://example.com/{}/{line}", if refused.contains(&line) { "bad" } else { "good" });
    import_reports_refused_lines(&database, &refused, target).await;
    Ok(())
}
