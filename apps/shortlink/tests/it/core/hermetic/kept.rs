//! The kept connection of an import into a running service.

use crate::core::program::Workdir;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// More than go into two requests.
const ROWS: usize = 700;

/// Reads one request. Returns the number of rows in its body.
fn request(stream: &mut BufReader<TcpStream>) -> usize {
    request_with_head(stream).1
}

/// Reads one request. Returns its head, and the number of rows in its body.
fn request_with_head(stream: &mut BufReader<TcpStream>) -> (String, usize) {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the client hung up");
        head += &line;
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
    (head, body["rows"].as_array().unwrap().len())
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

/// Regression: user, password and path of `--server` were not sent, and the password was printed.
// shows: hazard S26
#[test]
fn server_address_is_used_whole_and_printed_without_password() {
    let dir = Workdir::new();
    dir.write("in.tsv", "target\nhttps://example.com/\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let service = std::thread::spawn(move || {
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        let (head, rows) = request_with_head(&mut stream);
        answer(&mut stream, rows);
        head
    });
    // The password is `p:s@`.
    let server = format!("http://user:p%3As%40@{address}/links");
    dir.succeed(&["import", "in.tsv", "--server", &server]);
    let head = service.join().unwrap();
    assert!(head.starts_with("POST /links/api/import HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Basic dXNlcjpwOnNA\r\n"), "{head}");

    for (server, shown) in [
        (server.as_str(), format!("cannot reach the service at http://{address}/links/")),
        ("http://user:p%3As%40@example.com/?a=b", "not \"http://example.com/?a=b\"".to_owned()),
        ("ftp://user:p%3As%40@example.com/", "not \"ftp://example.com/\"".to_owned()),
        ("user:p%3As%40@example.com", "not \"example.com\"".to_owned()),
    ] {
        for command in [&["import", "in.tsv"], &["export", "out.tsv"]] {
            let why = dir.refuse(&[&command[..], &["--server", server]].concat());
            assert!(why.contains(&shown) && !why.contains("p%3As") && !why.contains("p:s@"), "{why}");
        }
    }
}
