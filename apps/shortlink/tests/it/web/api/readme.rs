//! Runs the examples of README.md and compares their output.

use crate::web::client::{Client, Response};
use crate::web::server::Server;

const README: &str = include_str!("../../../../README.md");

#[tokio::test]
async fn readme_examples_match_service() {
    let server = Server::start();
    let mut examples = 0;
    for block in README.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        for example in block.split("$ curl ").skip(1) {
            let (command, shown) = example.split_once('\n').unwrap();
            let answered = curl(&server.client, &words(command)).await;
            assert_eq!(timeless(&answered), timeless(shown), "curl {command}");
            examples += 1;
        }
    }
    assert_eq!(examples, 8, "as many examples as there are");
}

/// Implements the few curl options that the examples use.
async fn curl(client: &Client, words: &[String]) -> String {
    let (mut method, mut headers, mut body, mut url, mut head) = (None, Vec::new(), String::new(), "", false);
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-s" => {}
            "-si" => head = true,
            "-X" => method = words.next(),
            "-H" => headers.push(words.next().unwrap().split_once(": ").unwrap()),
            "-d" => words.next().unwrap().clone_into(&mut body),
            word => url = word,
        }
    }
    let path = url.strip_prefix("http://127.0.0.1:8080").unwrap();
    let usual = if body.is_empty() { "GET" } else { "POST" };
    headers.push(("host", "127.0.0.1:8080"));
    let answer = client.send(method.unwrap_or(usual), path, &headers, body.as_bytes()).await;
    let shown = if head { answer.head() + "\n" } else { String::new() };
    shown + answer.text()
}

/// Splits a command line without double quotes or escapes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.last_mut().unwrap().push_str(part);
            continue;
        }
        let mut parts = part.split(' ');
        words.last_mut().unwrap().push_str(parts.next().unwrap());
        words.extend(parts.map(str::to_owned));
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The text without what differs between runs: digits, times and connection headers.
fn timeless(text: &str) -> String {
    let lines = text.trim().lines().filter(|line| {
        !["date:", "x-short-id:", "connection:"].iter().any(|header| line.starts_with(header)) && !line.is_empty()
    });
    let mut timeless = String::new();
    for character in lines.flat_map(|line| line.chars().chain(['\n'])) {
        match character {
            '0'..='9' if timeless.ends_with('#') => {}
            '0'..='9' => timeless.push('#'),
            other => timeless.push(other),
        }
    }
    // A timestamp has a fraction of a second unless it is zero.
    timeless.replace("#.#Z", "#Z")
}

impl Response {
    /// The head as it came.
    fn head(&self) -> String {
        String::from_utf8_lossy(&self.head).replace("\r\n", "\n") + "\n"
    }
}
