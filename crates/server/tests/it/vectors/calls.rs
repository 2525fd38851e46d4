//! Vectors of the calls of the API for programs: requests in their order, and the responses.
//!
//! Redis's time is held, so that fences are the same in every run. `waited_ms` and tokens depend on the run: the one is left out, and `TOKEN`
//! stands for the token of the job.

use super::{check, vector};
use crate::api::caller::{Caller, problem};
use crate::console::server::{Console, Response};
use serde_json::{Value, json};

const NOW: u64 = 1_700_000_000_000;
const OWNER: &str = "0123456789abcdef0123456789abcdef";

/// What a client sees.
fn seen(response: &Response) -> Value {
    if response.status != 200 {
        let (status, kind, outcome) = problem(response);
        return json!({ "status": status, "problem": kind, "outcome": outcome });
    }
    let mut body: Value = serde_json::from_str(&response.text).unwrap();
    body.as_object_mut().unwrap().remove("waited_ms");
    json!({ "status": 200, "body": body })
}

/// The same with `TOKEN` in place of each token.
fn without_token(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (name, field) in fields {
                *field = if name == "token" { json!("TOKEN") } else { without_token(field.take()) };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_token(item.take())),
        _ => {}
    }
    value
}

#[tokio::test]
async fn golden_vectors_of_calls_are_those_of_the_program() {
    let console = Console::start(false).await;
    console.hold_time(NOW).await;
    let caller = Caller::local(&console);
    let mut vectors = Vec::new();
    let mut say = async |name: &str, path: &str, body: Value| {
        let response = caller.post(path, &body).await;
        let seen = seen(&response);
        let given = json!({ "post": path, "body": body });
        vectors.push(vector(name, without_token(given), without_token(seen.clone())));
        seen["body"].clone()
    };
    let job = json!({ "jobs": [{ "id": "welcome/42", "body": { "user": 42 } }] });
    say("enqueue", "/topics/mail/jobs", job.clone()).await;
    say("enqueue, sent again", "/topics/mail/jobs", job).await;
    let work = |sequence: u64, settle: Value| json!({ "worker": "w".repeat(16), "sequence": sequence, "settle": settle, "want": 1, "lease_ms": 60_000 });
    let claimed = say("claim", "/topics/mail/work", work(1, json!([]))).await;
    say("claim, sent again", "/topics/mail/work", work(1, json!([]))).await;
    let of = |name: &str| claimed["jobs"][0][name].clone();
    let receipt = json!({ "id": of("id"), "token": of("token"), "fence": of("fence") });
    let pulse = json!({ "worker": "w".repeat(16), "lease_ms": 60_000, "held": [], "started": [receipt] });
    say("the handler starts", "/topics/mail/heartbeat", pulse).await;
    let mut done = receipt;
    done["outcome"] = json!("done");
    say("settle", "/topics/mail/work", work(2, json!([done]))).await;
    say("settle, sent again", "/topics/mail/work", work(2, json!([done]))).await;
    say("an overtaken call", "/topics/mail/work", work(1, json!([]))).await;
    let lock = |owner: &str| json!({ "name": "stock/42", "owner": owner, "ttl_ms": 60_000 });
    let other = "f".repeat(32);
    say("acquire", "/locks/acquire", lock(OWNER)).await;
    say("acquire, sent again", "/locks/acquire", lock(OWNER)).await;
    say("acquire, held by another", "/locks/acquire", lock(&other)).await;
    say("renew", "/locks/renew", lock(OWNER)).await;
    say("renew, not the holder", "/locks/renew", lock(&other)).await;
    let release = json!({ "name": "stock/42", "owner": OWNER });
    say("release", "/locks/release", release.clone()).await;
    say("release, sent again", "/locks/release", release).await;
    say("acquire after the release", "/locks/acquire", lock(&other)).await;
    say("unknown field", "/locks/renew", json!({ "name": "a", "owner": OWNER, "ttl_ms": 60_000, "x": 1 })).await;
    check("calls.jsonl", &vectors);
}
