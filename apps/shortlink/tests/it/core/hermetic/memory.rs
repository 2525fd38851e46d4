//! The size of a file does not matter.

use crate::core::program::{Place, SHORTLINK};
use std::io::{BufWriter, Write};

/// What the program may use for data; the file is larger.
const DATA_BYTES_MAX: usize = 64 << 20;

/// An import that reads its file (or one endless line of it) into memory dies here: the system refuses it the memory.
#[test]
fn an_import_reads_more_than_it_may_remember() {
    let place = Place::new();
    let mut file = BufWriter::new(std::fs::File::create(place.path("in.tsv")).unwrap());
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
    let ended = place.run_through("prlimit", &[&limit, SHORTLINK, "import", "in.tsv"]);
    assert_eq!(ended.code, Some(1), "one line is bad: {ended:?}");
    let kept = "kept in in.tsv.rejected";
    assert_eq!(ended.out, format!("2002 links: 2001 new, 0 there already, 1 rejected, {kept}\n"));
    assert!(ended.err.contains("line 2002: it is longer than 65536 bytes"), "{}", ended.err);
    assert!(
        place.path("in.tsv.rejected").metadata().unwrap().len() > DATA_BYTES_MAX as u64,
        "the endless line is kept"
    );
}
