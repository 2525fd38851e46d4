//! Undecodable records are appended to a quarantine file next to the spool before they are removed from the spool.

use evenkeel::spool::Spooled;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use web::hex;

/// The quarantine file, in JSON Lines. After a crash its last records may be duplicated.
const FILE: &str = "unreadable.jsonl";

/// An undecodable record, and why.
pub(super) type Unreadable = (Spooled, String);

#[derive(Serialize)]
struct Line<'a> {
    sequence: u64,
    why: &'a str,
    code: String,
    /// The record's body in hexadecimal, because it need not be text.
    write: String,
}

/// Appends records to the quarantine file and syncs it to disk. Blocks. Returns the path of the file.
pub(super) fn append(folder: &Path, unreadable: &[Unreadable]) -> io::Result<PathBuf> {
    let path = folder.join(FILE);
    let mut lines = Vec::new();
    for (spooled, why) in unreadable {
        let code = String::from_utf8_lossy(&spooled.effect.key).into_owned();
        let write = hex(&spooled.effect.body);
        serde_json::to_writer(&mut lines, &Line { sequence: spooled.sequence, why, code, write })?;
        lines.push(b'\n');
    }
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    file.write_all(&lines)?;
    file.sync_all()?;
    File::open(folder)?.sync_all()?;
    Ok(path)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;
    use evenkeel::spool::PendingEffect;

    #[test]
    fn quarantine_appends_to_earlier_records() {
        let folder = tempfile::tempdir().unwrap();
        for sequence in [7, 9] {
            let spooled = Spooled { sequence, effect: PendingEffect::write("links", "news", vec![0xff, b'{']) };
            append(folder.path(), &[(spooled, "no \"JSON\"".to_owned())]).unwrap();
        }
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        let line = |sequence| format!(r#"{{"sequence":{sequence},"why":"no \"JSON\"","code":"news","write":"ff7b"}}"#);
        assert_eq!(text, format!("{}\n{}\n", line(7), line(9)));
    }
}
