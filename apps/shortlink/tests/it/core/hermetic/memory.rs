//! Memory does not grow with the size of a file.

use crate::core::program::{SHORTLINK, Workdir};
use std::io::{BufWriter, Write};

/// The memory limit of the program; the file is larger.
const DATA_BYTES_MAX: usize = 64 << 20;

/// An import that reads its file, or one endless line, into memory is killed by the limit.
#[test]
fn import_memory_does_not_grow_with_file() {
    let dir = Workdir::new();
    let mut file = BufWriter::new(std::fs::File::create(dir.path("in.tsv")).unwrap());
    file.write_all(b"target\n").unwrap();
    let filler = "x".repeat(7_000);
    for number in 0..2_000 {
        writeln!(file, "https://example.com/{number}/{filler}").unwrap();
    }
    for _ in 0..DATA_BYTES_MAX >> 20 {
        file.write_all(&vec![b'y'; 1 << 20]).unwrap();
    }
    file.write_all(b"\nhttps://example.com/last\n").unwrap();
    file.flush().unwrap();
    let limit = format!("--data={DATA_BYTES_MAX}");
    let ended = dir.run_through("prlimit", &[&limit, SHORTLINK, "import", "in.tsv"]);
    assert_eq!(ended.code, Some(1), "one line is bad: {ended:?}");
    let kept = "copied to in.tsv.rejected";
    assert_eq!(ended.out, format!("2002 links: 2001 new, 0 already present, 1 rejected, {kept}\n"));
    assert!(ended.err.contains("line 2002: the line is longer than 65536 bytes"), "{}", ended.err);
    assert!(
        dir.path("in.tsv.rejected").metadata().unwrap().len() > DATA_BYTES_MAX as u64,
        "the endless line is copied"
    );
}
