//! Visitors that follow links continuously and check every response.

use crate::web::client::Client;
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Concurrent visitors: enough to request about a hundred different links at the same time.
const VISITORS: usize = 96;

/// The running visitors. Every response must be a redirect to the link's target. A request that starts after an edit was
/// acknowledged must not get the former target.
pub(super) struct Load {
    links: Links,
    answered: watch::Sender<u64>,
    visitors: JoinSet<()>,
}

type Links = Arc<Mutex<HashMap<String, History>>>;

/// The targets of one link, in order.
struct History {
    targets: Vec<String>,
    /// The index of the target of the last acknowledged edit. Later edits are in flight.
    settled: usize,
}

impl Load {
    /// Creates `count` links and starts the visitors.
    pub(super) async fn start(client: &Client, count: usize) -> Load {
        let mut codes = Vec::new();
        let mut targets = HashMap::new();
        for number in 0..count {
            let target = format!("https://example.com/{number}/0");
            let code = client.make(&json!({ "target": target })).await;
            targets.insert(code.clone(), History { targets: vec![target], settled: 0 });
            codes.push(code);
        }
        let links: Links = Arc::new(Mutex::new(targets));
        let answered = watch::Sender::new(0);
        let mut visitors = JoinSet::new();
        for visitor in 0..VISITORS {
            let (client, codes, links, answered) =
                (client.clone(), codes.clone(), Arc::clone(&links), answered.clone());
            visitors.spawn(async move {
                for turn in 0.. {
                    let code = &codes[(visitor * 7 + turn * 13) % codes.len()];
                    follow(&client, code, &links).await;
                    answered.send_modify(|count| *count += 1);
                }
            });
        }
        Load { links, answered, visitors }
    }

    /// Waits for `count` more responses. A wrong response fails here.
    pub(super) async fn answered_more(&mut self, count: u64) {
        let mut answered = self.answered.subscribe();
        let goal = *answered.borrow() + count;
        tokio::select! {
            reached = answered.wait_for(|answered| *answered >= goal) => { reached.unwrap(); }
            Some(failed) = self.visitors.join_next() => failed.unwrap(),
        }
    }

    /// The code of a visited link.
    pub(super) fn code(&self) -> String {
        self.links.lock().unwrap().keys().next().unwrap().clone()
    }

    /// Changes the target of a link through `client`. Returns the consistency of the response.
    pub(super) async fn edit(&self, client: &Client, code: &str, target: &str) -> String {
        self.links.lock().unwrap().get_mut(code).unwrap().targets.push(target.to_owned());
        let answer = client.json("PATCH", &format!("/api/links/{code}"), &json!({ "target": target })).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        self.links.lock().unwrap().get_mut(code).unwrap().settled += 1;
        answer.consistency().to_owned()
    }
}

async fn follow(client: &Client, code: &str, links: &Links) {
    let settled = links.lock().unwrap()[code].settled;
    let answer = client.get(&format!("/{code}")).await;
    let location = answer.header("location").unwrap_or_else(|| panic!("/{code}: {} {}", answer.status, answer.text()));
    // The last acknowledged target before the request, or any later one.
    let may_be = links.lock().unwrap()[code].targets[settled..].to_vec();
    assert!(may_be.iter().any(|target| target == location), "/{code} leads to {location}, not to one of {may_be:?}");
}
