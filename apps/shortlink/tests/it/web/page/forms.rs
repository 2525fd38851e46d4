//! The page without its script: forms, redirects, escaping and security headers.

use crate::web::client::Response;
use crate::web::server::Server;
use serde_json::json;

const HTML: [(&str, &str); 1] = [("accept", "text/html")];

fn assert_is_page(answer: &Response) {
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let text = answer.text();
    assert!(!text.contains("<style") && !text.contains(" style=") && !text.contains(" onclick="), "{text}");
    assert!(!text.contains("<script>"), "{text}");
}

#[tokio::test]
async fn forms_create_find_change_and_delete_without_script() {
    let server = Server::start();
    let page = &server.client;
    let empty = page.get("/").await;
    assert_is_page(&empty);
    assert!(empty.text().contains("No links yet"));

    let made =
        page.form("/links", &[("target", " https://example.com/form "), ("alias", "form"), ("expires_at", "")]).await;
    assert_eq!((made.status, made.header("location")), (303, Some("/?created=form")));
    assert_eq!(made.consistency(), "consistent");
    let shown = page.get("/?created=form").await;
    assert_is_page(&shown);
    assert!(shown.text().contains("Your short link is ready."));
    assert_eq!(page.get("/form").await.header("location"), Some("https://example.com/form"));

    let found = page.get("/?q=FORM").await;
    assert!(found.text().contains("/links/form\""), "{}", found.text());
    assert!(page.get("/?q=nothing").await.text().contains("Nothing found"));

    let edit = page.get("/links/form").await;
    assert_is_page(&edit);
    let version = edit.text().split("name=\"version\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let fields =
        [("target", "https://example.com/2"), ("expires_at", "2090-05-06T07:08"), ("version", version.as_str())];
    let saved = page.form("/links/form", &fields).await;
    assert_eq!((saved.status, saved.header("location")), (303, Some("/?changed=form")));
    let link = page.get("/api/links/form").await.value();
    assert_eq!(
        (&link["target"], &link["expires_at"]),
        (&json!("https://example.com/2"), &json!("2090-05-06T07:08:00Z"))
    );

    // The form is outdated: the newer state is shown and not overwritten.
    let late = page.form("/links/form", &fields).await;
    assert_eq!(late.status, 412);
    assert_is_page(&late);
    assert!(late.text().contains("This link was changed while you were editing it."));

    assert_is_page(&page.get("/links/form/delete").await);
    let deleted = page.form("/links/form/delete", &[]).await;
    assert_eq!((deleted.status, deleted.header("location")), (303, Some("/?deleted=form")));
    assert_eq!(page.send("GET", "/links/form", &HTML, b"").await.status, 404);
}

/// The field shows minutes only. Saving the form must not truncate an expiry that was not edited.
#[tokio::test]
async fn unedited_expiry_keeps_its_seconds() {
    let server = Server::start();
    let page = &server.client;
    let end = "2090-05-06T07:08:09.25Z";
    let code = page.make(&json!({ "target": "https://example.com/1", "expires_at": end })).await;
    let path = format!("/links/{code}");
    let form = [("target", "https://example.com/2"), ("expires_at", "2090-05-06T07:08"), ("expires_was", end)];
    assert_eq!(page.form(&path, &form).await.status, 303);
    assert_eq!(page.get(&format!("/api/links/{code}")).await.value()["expires_at"], end);
    let form = [("target", "https://example.com/2"), ("expires_at", ""), ("expires_was", end)];
    assert_eq!(page.form(&path, &form).await.status, 303);
    assert_eq!(page.get(&format!("/api/links/{code}")).await.value()["expires_at"], json!(null));
}

#[tokio::test]
async fn forms_return_errors_with_submitted_values() {
    let server = Server::start();
    let page = &server.client;
    let typed = [("target", "ftp://example.com/<b>"), ("alias", "bad alias"), ("expires_at", "2001-01-01T00:00")];
    let refused = page.form("/links", &typed).await;
    assert_eq!(refused.status, 422);
    assert_is_page(&refused);
    let text = refused.text();
    for id in ["target-error", "alias-error", "expires_at-error"] {
        assert!(
            text.contains(&format!("id=\"{id}\"")) && text.contains(&format!("aria-describedby=\"{id}\"")),
            "{text}"
        );
    }
    assert!(text.contains("value=\"ftp://example.com/&lt;b&gt;\"") && text.contains("value=\"bad alias\""), "{text}");
    assert!(text.contains("value=\"2001-01-01T00:00\""), "{text}");

    page.make(&json!({ "target": "https://example.com/", "alias": "mine" })).await;
    let taken = page.form("/links", &[("target", "https://example.com/"), ("alias", "mine")]).await;
    assert_eq!(taken.status, 409);
    assert!(taken.text().contains("id=\"alias-error\""), "{}", taken.text());
    assert_eq!(page.get("/?page=0").await.status, 422);
}

#[tokio::test]
async fn user_input_is_escaped_on_every_page() {
    let server = Server::start();
    let target = "https://example.com/?a=%22&b='\"><script>alert(1)</script>";
    let code = server.client.make(&json!({ "target": target })).await;
    for path in ["/".to_owned(), format!("/?created={code}"), format!("/links/{code}"), format!("/links/{code}/delete")]
    {
        let page = server.client.get(&path).await;
        assert_is_page(&page);
        assert!(!page.text().contains("<script>alert") && page.text().contains("&lt;script&gt;alert"), "{path}");
    }
    for path in ["/?q=%3Cscript%3Ealert(1)", "/?changed=%3Cscript%3Ealert(1)", "/?deleted=%3Cscript%3Ealert(1)"] {
        assert!(!server.client.get(path).await.text().contains("<script>alert"), "{path}");
    }
}

#[tokio::test]
async fn cross_site_form_is_refused() {
    let server = Server::start();
    let page = &server.client;
    page.make(&json!({ "target": "https://example.com/", "alias": "kept" })).await;
    let form = ("content-type", "application/x-www-form-urlencoded");
    let own = format!("http://{}", page.address);
    for foreign in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        page.send("POST", "/links/kept/delete", &[form, foreign], b"").await.problem(403, "cross-origin");
        page.send("POST", "/links", &[form, foreign], b"target=https://example.com/")
            .await
            .problem(403, "cross-origin");
        page.send("DELETE", "/api/links/kept", &[foreign], b"").await.problem(403, "cross-origin");
    }
    assert_eq!(page.get("/api/links").await.value()["total"], 1);
    // A cross-site GET of a short link is the normal use.
    assert_eq!(page.send("GET", "/kept", &[("sec-fetch-site", "cross-site")], b"").await.status, 302);
    // An old browser sends only `Origin`.
    let home = page.send("POST", "/links/kept/delete", &[form, ("origin", own.as_str())], b"").await;
    assert_eq!(home.status, 303);
}

#[tokio::test]
async fn assets_are_immutable_and_named_by_hash() {
    let server = Server::start();
    let page = server.client.get("/").await;
    let mut assets: Vec<&str> = page.text().split('"').filter(|part| part.starts_with("/assets/")).collect();
    assets.sort_unstable();
    assets.dedup();
    assert_eq!(assets.len(), 4, "{assets:?}");
    for asset in assets {
        let answer = server.client.get(asset).await;
        assert_eq!(answer.status, 200, "{asset}");
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
        let tag = answer.header("etag").unwrap();
        assert!(asset.ends_with(&format!("?v={}", tag.trim_matches('"'))), "{asset} {tag}");
        let again = server.client.send("GET", asset, &[("if-none-match", tag)], b"").await;
        assert_eq!((again.status, again.body.len()), (304, 0));
    }
}

/// Anyone can craft the query of the page.
// shows: hazard S7
#[tokio::test]
async fn page_announces_only_actual_changes() {
    let server = Server::start();
    let code = server.client.make(&json!({ "target": "https://example.com/" })).await;
    let reported = async |path: String| server.client.send("GET", &path, &HTML, b"").await.text().to_owned();
    for path in ["deleted", "banned"] {
        assert!(!reported(format!("/?{path}={code}")).await.contains("role=\"status\""), "{path}");
    }
    // A code that never had a link.
    let page = reported("/?deleted=anything".to_owned()).await;
    assert!(page.contains("There is no link") && !page.contains("was deleted"), "{page}");
    for path in ["deleted", "changed", "banned", "unbanned"] {
        assert!(!reported(format!("/?{path}=your+account+was+closed")).await.contains("role=\"status\""), "{path}");
    }
    assert!(reported(format!("/?changed={code}")).await.contains("was changed"));
}
