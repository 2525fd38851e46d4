//! Real URLs end to end: imported with a kill in the middle, imported again, and every code requested over HTTP.
//!
//! The file is the committed sample of 2,000, or `EVENKEEL_URLS`, for example all 29,390 (docs/guarantees.md says when). The tests print which.

use super::program::{Workdir, last_event, sample};
use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use testkit::park::{mariadb_database, postgres_database, redis};
use tokio::net::TcpStream;

/// Concurrent connections. They are kept open: a new one per request would exhaust the ports.
const ASKERS: usize = 8;

#[tokio::test]
async fn sqlite_and_embedded_cache_redirect_every_imported_url() {
    every_code_leads_to_its_address(&[]).await;
}

#[tokio::test]
async fn mariadb_and_redis_redirect_every_imported_url() {
    let (database, redis) = (mariadb_database().await.unwrap(), redis().await.unwrap());
    every_code_leads_to_its_address(&["--database", &database.url, "--redis", &redis.url]).await;
}

#[tokio::test]
async fn postgres_and_redis_redirect_every_imported_url() {
    let (database, redis) = (postgres_database().await.unwrap(), redis().await.unwrap());
    every_code_leads_to_its_address(&["--database", &database.url, "--redis", &redis.url]).await;
}

async fn every_code_leads_to_its_address(servers: &[&str]) {
    let file = file();
    let given = std::fs::read_to_string(&file).unwrap();
    let given: BTreeSet<&str> = given.lines().skip(1).map(|line| line.split('\t').nth(1).unwrap()).collect();
    println!("{} addresses of {}", given.len(), file.display());
    let dir = Workdir::new();
    let import = [&["import", file.to_str().unwrap(), "--json"][..], servers].concat();
    let (mut child, mut out) = dir.start(&import);
    while out.event("progress").unwrap()["line"].as_u64().unwrap() < given.len() as u64 / 3 {}
    child.kill().unwrap();

    let import: Vec<&str> = import.iter().copied().filter(|argument| *argument != "--json").collect();
    dir.succeed(&import);
    let again = dir.succeed(&[&import[..], &["--json"]].concat());
    assert_eq!(last_event(&again)["present"], given.len(), "{again}");
    assert_eq!(last_event(&again)["created"], 0, "{again}");

    let (mut child, mut out) = dir.start(&[&["--listen", "127.0.0.1:0"], servers].concat());
    let line = out.line().unwrap_or_else(|| panic!("{}", child.log_tail()));
    let address = line.strip_prefix("listening on http://").unwrap().to_owned();
    dir.succeed(&["export", "out.tsv", "--server", &format!("http://{address}")]);
    let rows: Vec<(String, String)> = dir.read("out.tsv").lines().skip(1).map(code_and_target).collect();
    assert_eq!(rows.len(), given.len());
    assert_eq!(rows.iter().map(|(_, target)| target.as_str()).collect::<BTreeSet<_>>(), given);

    let rows = Arc::new(rows);
    ask(&address, &rows, 1).await;
    // Some again, from the cache.
    ask(&address, &rows, 10).await;
    assert!(child.terminate().await.unwrap().success(), "{}", child.log_tail());
}

/// Requests every `step`th code and compares `Location` byte for byte.
async fn ask(address: &str, rows: &Arc<Vec<(String, String)>>, step: usize) {
    let askers: Vec<_> = (0..ASKERS)
        .map(|asker| {
            let (address, rows) = (address.to_owned(), Arc::clone(rows));
            tokio::spawn(async move {
                let mut sender = connect(&address).await;
                for (code, target) in rows.iter().step_by(step).skip(asker).step_by(ASKERS) {
                    let request = Request::get(format!("/{code}")).header(header::HOST, &address);
                    let answer = sender.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
                    assert_eq!(answer.status(), 302, "{code}");
                    let location = answer.headers().get(header::LOCATION).unwrap().as_bytes();
                    assert_eq!(location, target.as_bytes(), "{code}");
                    drop(answer);
                    sender.ready().await.unwrap();
                }
            })
        })
        .collect();
    for asker in askers {
        asker.await.unwrap();
    }
}

async fn connect(address: &str) -> SendRequest<Empty<Bytes>> {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn code_and_target(row: &str) -> (String, String) {
    let mut fields = row.split('\t').map(str::to_owned);
    (fields.next().unwrap(), fields.next().unwrap())
}

fn file() -> PathBuf {
    std::env::var_os("EVENKEEL_URLS").map_or_else(sample, PathBuf::from)
}
