//! The service is asked to stop.

use super::client::read_answer;
use super::server::Server;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const BODY: &[u8] = br#"{"target":"https://example.com/","alias":"late"}"#;

/// Sends all of a request but the end of its body, and waits until the service has begun to read it.
async fn begin(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(&server.client.address).await.unwrap();
    let head = format!(
        "POST /api/links HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nexpect: 100-continue\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        BODY.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The service asks for the body once a handler wants it: from here on the request is under way.
    let mut said = [0; 25];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut said).await.unwrap();
    assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

fn ask_to_stop(server: &Server, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(server.child.id()).unwrap()).unwrap(), signal).unwrap();
}

async fn stops(server: &Server) {
    let stopping = testkit::eventually("the service stops to listen", || async {
        TcpStream::connect(&server.client.address).await.is_err().then_some(())
    });
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_request_under_way_is_finished_and_no_new_one_begun() {
    let mut server = Server::start();
    let idle = TcpStream::connect(&server.client.address).await.unwrap();
    let mut under_way = begin(&server).await;
    ask_to_stop(&server, Signal::TERM);
    stops(&server).await;
    assert!(server.child.ended().unwrap().is_none(), "it waits for the request");
    under_way.write_all(BODY).await.unwrap();
    let answer = read_answer(&mut under_way, false).await.unwrap();
    assert_eq!((answer.status, answer.value()["code"].as_str()), (201, Some("late")));
    assert!(server.child.wait().await.unwrap().success(), "{}", server.log());
    drop(idle);
}

#[tokio::test]
async fn an_interrupt_is_a_request_to_stop_as_well() {
    let mut server = Server::start();
    ask_to_stop(&server, Signal::INT);
    assert!(server.child.wait().await.unwrap().success(), "{}", server.log());
}

#[tokio::test]
async fn the_second_signal_does_not_wait() {
    let mut server = Server::start();
    let _under_way = begin(&server).await;
    ask_to_stop(&server, Signal::TERM);
    stops(&server).await;
    assert!(server.child.ended().unwrap().is_none(), "it waits for the request");
    ask_to_stop(&server, Signal::TERM);
    assert_eq!(server.child.wait().await.unwrap().code(), Some(130));
}
