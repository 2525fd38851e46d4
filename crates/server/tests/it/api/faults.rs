//! The calls of programs while connections of the console to Redis are cut, before and after each of its commands.

use super::caller::{Caller, answer, problem};
use crate::console::server::Console;
use serde_json::{Value, json};
use testkit::eventually;
use testkit::proxy::Proxy;

/// Commands of a call that are cut, one after the other. A call has fewer.
const COMMANDS: u64 = 6;
const NOW: u64 = 1_700_000_000_000;
/// A lost reply is noticed this much later.
const LATER_MS: u64 = 10_000;
const TTL_MS: u64 = 60_000;

#[derive(Clone, Copy, Debug)]
enum Cut {
    BeforeCommand(u64),
    BeforeReply(u64),
}

/// Every place at which a call can lose its connection.
fn cuts() -> impl Iterator<Item = Cut> {
    (1..=COMMANDS).flat_map(|number| [Cut::BeforeCommand(number), Cut::BeforeReply(number)])
}

fn arm(proxy: &Proxy, cut: Cut) {
    let sent = proxy.counters().commands;
    match cut {
        Cut::BeforeCommand(number) => proxy.cut_before_command(sent + number),
        Cut::BeforeReply(number) => proxy.cut_before_reply(sent + number),
    }
}

/// A client: sends the same call again until it has a reply.
async fn until_answered(caller: &Caller<'_>, path: &str, body: &Value) -> Value {
    let answered = eventually("the call is answered", || async move {
        let response = caller.post(path, body).await;
        if response.status == 200 {
            return Some(answer(&response));
        }
        assert_eq!(problem(&response).0, 503, "{}", response.text);
        None
    });
    answered.await.unwrap()
}

#[tokio::test]
async fn worker_whose_calls_are_cut_anywhere_gets_and_settles_each_job_once() {
    let (console, proxy) = Console::start_behind_proxy(1).await;
    let caller = Caller::local(&console);
    let mail = console.keel.queue::<Value>("mail").retries(0).open().await.unwrap();
    let mut handled = 0;
    for cut in cuts() {
        let id = mail.job(&json!({ "n": handled })).enqueue().await.unwrap();
        let worker = format!("worker-{handled:016}");
        let call = |sequence: u64, settle: Value| json!({ "worker": worker, "sequence": sequence, "settle": settle, "want": 2, "lease_ms": 60_000 });
        arm(&proxy, cut);
        let claimed = until_answered(&caller, "/topics/mail/work", &call(1, json!([]))).await;
        let jobs = claimed["jobs"].as_array().unwrap();
        assert_eq!((jobs.len(), &jobs[0]["body"]), (1, &json!({ "n": handled })), "{cut:?}, {id:?}: {claimed}");
        assert_eq!(jobs[0]["attempt"], 1, "{cut:?}: claimed twice");
        let receipt = json!({ "id": jobs[0]["id"], "token": jobs[0]["token"], "fence": jobs[0]["fence"] });
        let pulse = json!({ "worker": worker, "lease_ms": 60_000, "held": [], "started": [receipt] });
        arm(&proxy, cut);
        assert_eq!(
            until_answered(&caller, "/topics/mail/heartbeat", &pulse).await["started"],
            json!([true]),
            "{cut:?}"
        );
        let mut done = receipt;
        done["outcome"] = json!("done");
        arm(&proxy, cut);
        let settled = until_answered(&caller, "/topics/mail/work", &call(2, json!([done]))).await;
        assert_eq!((&settled["verdicts"], &settled["jobs"]), (&json!(["settled"]), &json!([])), "{cut:?}: {settled}");
        handled += 1;
    }
    let stats = console.keel.topic("mail").await.unwrap().stats().await.unwrap();
    assert_eq!((stats.done(), stats.running(), stats.dead(), stats.waiting()), (handled, 0, 0, 0));
    assert!(proxy.counters().cut >= handled, "{:?}", proxy.counters());
}

/// The lease that a repeat reports is what is left of the first one, so that the client's deadline is never late.
#[tokio::test]
async fn lock_whose_calls_are_cut_anywhere_has_one_holder_and_an_early_deadline() {
    let (console, proxy) = Console::start_behind_proxy(2).await;
    let caller = Caller::local(&console);
    let (mut fence, mut now) = (0, NOW);
    for (number, cut) in cuts().enumerate() {
        let ask = |owner: &str| json!({ "name": "stock/42", "owner": owner, "ttl_ms": TTL_MS });
        let owner = format!("{number:032x}");
        console.hold_time(now).await;
        arm(&proxy, cut);
        let first = caller.post("/locks/acquire", &ask(&owner)).await;
        now += LATER_MS;
        console.hold_time(now).await;
        let is_granted = console.keel.lock("stock/42").inspect().await.unwrap().is_some();
        let again = until_answered(&caller, "/locks/acquire", &ask(&owner)).await;
        let lease_ms = again["lease_ms"].as_u64().unwrap();
        assert_eq!(lease_ms, if is_granted { TTL_MS - LATER_MS } else { TTL_MS }, "{cut:?}: {again}");
        let granted: u64 = again["fence"].as_str().unwrap().parse().unwrap();
        assert!(granted > fence, "{cut:?}: {granted} after {fence}");
        if first.status == 200 {
            assert_eq!(answer(&first)["fence"], again["fence"], "{cut:?}");
        }
        fence = granted;
        arm(&proxy, cut);
        let renewed = until_answered(&caller, "/locks/renew", &ask(&owner)).await;
        assert_eq!((&renewed["is_held"], &renewed["lease_ms"]), (&json!(true), &json!(TTL_MS)), "{cut:?}");
        let other = until_answered(&caller, "/locks/acquire", &ask(&"f".repeat(32))).await;
        assert_eq!(other["is_granted"], false, "{cut:?}");
        arm(&proxy, cut);
        let release = json!({ "name": "stock/42", "owner": owner });
        let released = until_answered(&caller, "/locks/release", &release).await;
        // A repeat finds that the first sending has released it.
        assert!(released["result"] == "released" || released["result"] == "free", "{cut:?}: {released}");
        assert!(console.keel.lock("stock/42").inspect().await.unwrap().is_none(), "{cut:?}");
    }
    assert!(proxy.counters().cut > 0, "{:?}", proxy.counters());
}
