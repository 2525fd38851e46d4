//! The kept connection of an import into a running service.

use crate::core::program::Workdir;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// More than go into two requests.
const ROWS: usize = 700;

/// Reads one request. Returns the number of rows in its body.
fn request(stream: &mut BufReader<TcpStream>) -> usize {
    let mut length = 0;
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the client hung up");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    body["rows"].as_array().unwrap().len()
}

fn answer(stream: &mut BufReader<TcpStream>, rows: usize) {
    let outcomes = vec![r#"{"outcome":"created","code":"a"}"#; rows].join(",");
    let body = format!("{{\"outcomes\":[{outcomes}]}}");
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.get_mut().write_all((head + &body).as_bytes()).unwrap();
}

/// Regression: a service or proxy closed an idle connection just when the next batch was sent, and the import ended with `cannot
/// reach the service`.
#[test]
fn import_reconnects_after_service_closed_connection() {
    let dir = Workdir::new();
    let rows: String = (0..ROWS).map(|number| format!("https://example.com/{number}\n")).collect();
    dir.write("in.tsv", format!("target\n{rows}"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let service = std::thread::spawn(move || {
        let mut first = BufReader::new(listener.accept().unwrap().0);
        let rows_of_first = request(&mut first);
        answer(&mut first, rows_of_first);
        let unanswered = request(&mut first);
        drop(first);
        let mut second = BufReader::new(listener.accept().unwrap().0);
        let mut taken = rows_of_first;
        while taken < ROWS {
            let rows = request(&mut second);
            assert!(taken > rows_of_first || rows == unanswered, "the same rows again");
            answer(&mut second, rows);
            taken += rows;
        }
        taken
    });
    let taken = dir.succeed(&["import", "in.tsv", "--server", &format!("http://{address}")]);
    assert_eq!(taken, format!("{ROWS} links: {ROWS} new, 0 already present, 0 rejected\n"));
    assert_eq!(service.join().unwrap(), ROWS);
}
