//! Every route of the table with every role, without the proofs of a form, with foreign hosts, and through a proxy.

use super::server::Console;
use crate::program::evenkeel;
use serde_json::{Value, json};

/// Method, path, kind and action.
pub(crate) type Row = (String, String, String, String);

/// The routes that the program prints, with a path that exists.
pub(crate) fn routes() -> Vec<Row> {
    let ran = evenkeel(&["serve", "--routes", "--redis", "redis://127.0.0.1:1", "--listen", "127.0.0.1:0"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let rows: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let path = |row: &Value| {
        let path = text(row, "path").replace("{topic}", "mail").replace("{id}", &"0".repeat(32));
        path.replace("{file}", "live.js")
            .replace("{source}", "default")
            .replace("{cache}", "mail")
            .replace("{stream}", "orders")
            .replace("{group}", "billing")
    };
    rows.iter().map(|row| (text(row, "method"), path(row), text(row, "kind"), text(row, "action"))).collect()
}

#[tokio::test]
async fn every_route_needs_its_role() {
    let console = Console::start(true).await;
    for (method, path, kind, action) in routes().iter().filter(|(_, path, ..)| path != "/live") {
        let is_public = action == "public";
        let stranger = console.send(method, path, "", "").await;
        let expected: &[u16] = match (is_public, kind.as_str()) {
            (true, "form") => &[403],
            (true, _) => &[200, 303],
            (false, "page") => &[303],
            (false, _) => &[401],
        };
        assert!(expected.contains(&stranger.status), "stranger: {method} {path}: {}", stranger.status);
        for (rank, token) in console.tokens.iter().enumerate().filter(|_| !is_public) {
            let needed = match action.as_str() {
                "read" => 0,
                "delete" | "skip" | "seek" | "unregister" | "break" | "create" | "log" => 2,
                // No role: only a key with the scope.
                "enqueue" | "append" | "work" | "lock" => 3,
                _ => 1,
            };
            let response = console.send(method, path, &format!("authorization: Bearer {token}\r\n"), "").await;
            let is_refused = response.status == 403 && response.text.contains(", you need the role")
                || response.text.contains("a key needs the scope");
            assert_eq!(
                is_refused,
                rank < needed,
                "rank {rank}: {method} {path}: {} {}",
                response.status,
                response.text
            );
        }
        let wrong = console.send(method, path, "authorization: Bearer wrong\r\n", "").await;
        assert_ne!((wrong.status, is_public), (200, false), "{path}");
    }
}

#[tokio::test]
async fn every_form_needs_own_origin_and_csrf_token() {
    let console = Console::start(false).await;
    let (cookie, csrf) = console.visit("/queues/mail", "").await;
    let own = console.form(&cookie);
    let forms: Vec<_> = routes().into_iter().filter(|(_, _, kind, _)| kind == "form").collect();
    assert!(forms.len() > 5);
    for (_, path, ..) in &forms {
        let body = format!("csrf={csrf}");
        let no_origin = own.replace("origin:", "x-origin:");
        let foreign = own.replace(&format!("http://{}", console.address), "http://evil.example");
        let null = own.replace(&format!("http://{}", console.address), "null");
        let no_cookie = own.replace("cookie:", "x-cookie:");
        let cases = [
            (&no_origin, &body),
            (&foreign, &body),
            (&null, &body),
            (&no_cookie, &body),
            (&own, &String::new()),
            (&own, &"csrf=0".to_owned()),
        ];
        for (headers, body) in cases {
            let response = console.send("POST", path, headers, body).await;
            assert_eq!(response.status, 403, "{path}: {headers}{body}: {}", response.text);
        }
        let proven = console.send("POST", path, &own, &body).await;
        assert_ne!(proven.status, 403, "{path}: {}", proven.text);
        let get = console.get(path, "").await;
        assert!(get.status == 405 || path == "/login", "{path}: {}", get.status);
    }
}

#[tokio::test]
async fn foreign_hosts_and_forwarded_requests_are_refused_on_every_route() {
    let console = Console::start(false).await;
    for (method, path, ..) in routes() {
        let foreign = console.send(&method, &path, "host: evil.example\r\n", "").await;
        assert_eq!(foreign.status, 421, "{path}");
        for header in
            ["forwarded: for=10.0.0.1", "x-forwarded-for: 10.0.0.1", "x-forwarded-host: a.example", "via: 1.1 proxy"]
        {
            let forwarded = console.send(&method, &path, &format!("{header}\r\n"), "").await;
            assert_eq!(forwarded.status, 403, "{path} with {header}: {}", forwarded.text);
        }
    }
}

// shows: hazard PO14
#[tokio::test]
async fn pages_forbid_inline_script_and_framing() {
    let console = Console::start(false).await;
    let page = console.get("/", "").await;
    assert_eq!(page.status, 200, "{}", page.text);
    for part in
        ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]
    {
        assert!(page.head.contains(part), "{part}: {}", page.head);
    }
    assert!(
        page.head.contains("referrer-policy: same-origin") && page.head.contains("cache-control: no-store"),
        "{}",
        page.head
    );
    assert!(!page.text.contains("<script>") && !page.text.contains("style=") && !page.text.contains(" onclick"));
    assert_eq!(console.get("/health/ready", "").await.text, "ready\n");
    let metrics = console.get("/metrics", "").await.text;
    assert!(metrics.contains("evenkeel_console_requests_total"));
    for line in metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = line.split(' ').next().unwrap();
        assert!(metrics.contains(&format!("# HELP {name} ")), "{name} has no text");
    }
}

#[tokio::test]
async fn oversized_form_is_refused() {
    let console = Console::start(false).await;
    let (cookie, csrf) = console.visit("/queues/mail", "").await;
    let body = format!("csrf={csrf}&x={}", "x".repeat(65 * 1024));
    assert_eq!(console.send("POST", "/queues/mail/pause", &console.form(&cookie), &body).await.status, 413);
    let paused = console.keel.topic("mail").await.unwrap().stats().await.unwrap().is_paused();
    assert!(!paused, "nothing was changed");
}

/// Beyond loopback the program does not start.
#[test]
fn console_without_login_refuses_other_addresses() {
    let ran = evenkeel(&["serve", "--redis", "redis://127.0.0.1:1", "--listen", "0.0.0.0:0"]);
    assert_eq!((ran.code, ran.err.contains("--tokens")), (2, true), "{}", ran.err);
}

#[tokio::test]
async fn login_sets_a_cookie_that_ends_with_its_token() {
    let console = Console::start(true).await;
    let (cookie, csrf) = console.visit("/login", "").await;
    let login = |token: String| format!("csrf={csrf}&token={token}&next=%2Fqueues%2Fmail");
    let wrong = console.send("POST", "/login", &console.form(&cookie), &login("wrong".to_owned())).await;
    assert_eq!(wrong.status, 401, "{}", wrong.text);
    let right = console.send("POST", "/login", &console.form(&cookie), &login(console.tokens[0].clone())).await;
    assert!(
        right.status == 303 && right.head.contains("location: /queues/mail") && right.head.contains("httponly"),
        "{}",
        right.head
    );
    let set = right.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = format!("cookie: {}\r\n", set.split(';').next().unwrap());
    assert_eq!(console.get("/", &cookie).await.status, 200);
    // The operator deletes the token.
    let file = console.folder.path().join("tokens");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("sha256 = \"", "sha256 = \"00", 1)).unwrap();
    assert_eq!(console.get("/", &cookie).await.status, 303, "to the login");
}

// shows: hazard CL11, hazard CL25
#[tokio::test]
async fn actions_are_in_the_audit_log() {
    let console = Console::start(false).await;
    let (cookie, csrf) = console.visit("/queues/mail", "").await;
    let paused = console.send("POST", "/queues/mail/pause", &console.form(&cookie), &format!("csrf={csrf}")).await;
    assert_eq!(paused.status, 303, "{}", paused.text);
    let log = std::fs::read_to_string(console.folder.path().join("audit")).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["action"], &lines[0]["outcome"]), (2, &json!("pause"), &json!("begun")));
    assert_eq!((&lines[1]["outcome"], &lines[1]["id"]), (&json!("done"), &lines[0]["id"]));
    let page = console.get("/log", "").await.text;
    assert!(page.contains("done: Paused: consumers get no jobs until Resume."), "{page}");
    assert_eq!(page.matches("<tr>").count(), 2, "headings, and one row for the two lines of the action: {page}");
}
