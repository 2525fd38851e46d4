//! Access: passwords, users, databases, TLS, sockets; and the errors for callers without access.

use super::harness::{cmd, link, no_clients, refusal, server};
use crate::log::Log;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkError, LinkOptions};
use std::convert::Infallible;
use std::time::Duration;
use testkit::servers::certificates::Identity;
use testkit::servers::{Redis, RedisOptions};

// shows: hazard S9, keel::Keel::connect, keel::KeelBuilder::connect, keel::KeelBuilder::connect_with
// shows: link::Link::connect
#[tokio::test]
async fn wrong_password_error_hides_the_password() -> Result<()> {
    let redis = Redis::start(RedisOptions::new().password("secret")).await?;
    link(&redis.url()).await?;
    let wrong = redis.url().replace("secret", "guessed");
    let error = refusal(&wrong).await;
    assert!(matches!(&error, LinkError::Refused { code, .. } if code == "WRONGPASS"), "{error}");
    assert!(!error.is_retryable() && !error.to_string().contains("guessed"), "{error}");
    let error = refusal(&format!("redis://127.0.0.1:{}", redis.port())).await;
    assert!(matches!(&error, LinkError::Refused { code, .. } if code == "NOAUTH"), "{error}");
    assert!(
        error.to_string().contains("redis://USER:PASSWORD@HOST") && !error.to_string().contains("HELLO"),
        "{error}"
    );
    Ok(())
}

// shows: hazard S18, keel::Keel::connect_lazy, keel::KeelBuilder::connect_lazy_with, link::Link::connect_lazy
// shows: link::Link::check
#[tokio::test]
async fn check_distinguishes_denied_from_absent() -> Result<()> {
    let mut redis = Redis::start(RedisOptions::new().password("secret")).await?;
    Link::check(LinkOptions::from_url(&redis.url())?).await?;
    no_clients(&redis).await?;
    let wrong = LinkOptions::from_url(&redis.url().replace("secret", "guessed"))?;
    let checked = Link::check(wrong.clone()).await.unwrap_err();
    let opened = Link::connect_lazy(wrong, Clock::system()).await.err().expect("the link was opened");
    for error in [checked, opened] {
        assert!(matches!(&error, LinkError::Refused { code, .. } if code == "WRONGPASS"), "{error}");
    }
    no_clients(&redis).await?;
    redis.kill()?;
    Link::check(LinkOptions::from_url(&redis.url())?).await?;
    Ok(())
}

#[tokio::test]
async fn check_reports_the_rights_of_the_user() -> Result<()> {
    let rules = "~app:* &* +@all -@dangerous +info";
    let redis = Redis::start(RedisOptions::new().user("app", "secret", rules)).await?;
    let link = link(&redis.url()).await?;
    link.command(b"app:k", &cmd(&["SET", "app:k", "v"])).await?;
    let error = link.command(b"other:k", &cmd(&["SET", "other:k", "v"])).await.unwrap_err();
    assert!(matches!(&error, LinkError::Refused { code, .. } if code == "NOPERM"), "{error}");
    Ok(())
}

/// Every read would come from the database, and only a metric would say why.
// shows: hazard S16
#[tokio::test]
async fn missing_key_permissions_are_logged_once() -> Result<()> {
    let redis = Redis::start(RedisOptions::new().user("app", "secret", "~other:* &* +@all")).await?;
    let log = Log::begin();
    let keel = Keel::connect(&redis.url()).await?;
    let rows = keel.cache::<u64, u64>("rows").ttl(Duration::from_secs(60)).open().await?;
    for _ in 0..3 {
        let found = rows.get(&1, |_| async { Ok::<_, Infallible>(Some(7)) }).await?;
        assert_eq!(found.as_deref(), Some(&7));
    }
    log.says(&["Redis denies this user commands that the library needs"]);
    Ok(())
}

#[tokio::test]
async fn user_without_role_permission_gets_a_clear_error() -> Result<()> {
    let redis = Redis::start(RedisOptions::new().user("app", "secret", "~* &* +@all -info")).await?;
    let error = refusal(&redis.url()).await;
    assert!(error.to_string().contains("'info'") && !error.is_retryable(), "{error}");
    Ok(())
}

// shows: keel::Keel::connect, keel::KeelBuilder::connect, keel::KeelBuilder::connect_with, link::Link::connect
#[tokio::test]
async fn database_of_the_url_is_selected() -> Result<()> {
    let redis = server().await?;
    let third = link(&format!("{}/3", redis.url())).await?;
    third.command(b"k", &cmd(&["SET", "k", "third"])).await?;
    assert_eq!(link(&redis.url()).await?.get(b"k").await?, None);
    assert_eq!(link(&format!("{}/3", redis.url())).await?.get(b"k").await?.as_deref(), Some(&b"third"[..]));
    let error = refusal(&format!("{}/99", redis.url())).await;
    assert!(error.to_string().contains("DB index is out of range") && !error.is_retryable(), "{error}");
    Ok(())
}

#[tokio::test]
async fn tls_trusts_only_the_configured_authority() -> Result<()> {
    let redis = Redis::start(RedisOptions::new().tls()).await?;
    let trusting = format!("{}?tls_ca_file={}", redis.url(), redis.tls_authority().display());
    let link = link(&trusting).await?;
    link.command(b"k", &cmd(&["SET", "k", "v"])).await?;
    assert_eq!(link.get(b"k").await?.as_deref(), Some(&b"v"[..]));
    let error = refusal(&redis.url()).await;
    assert!(matches!(&error, LinkError::Down { reason, .. } if reason.contains("certificate")), "{error}");
    let error = refusal(&format!("{}?tls_ca_file=/no/such/file", redis.url())).await;
    assert!(matches!(&error, LinkError::Options(text) if text.contains("/no/such/file")), "{error}");
    Ok(())
}

#[tokio::test]
async fn client_presents_its_certificate() -> Result<()> {
    let redis = Redis::start(RedisOptions::new().tls_clients()).await?;
    let trusting = format!("{}?tls_ca_file={}", redis.url(), redis.tls_authority().display());
    let Identity { certificate, key } = redis.tls_client();
    let known = format!("{trusting}&tls_cert_file={}&tls_key_file={}", certificate.display(), key.display());
    let link = link(&known).await?;
    link.command(b"k", &cmd(&["SET", "k", "v"])).await?;
    assert_eq!(link.get(b"k").await?.as_deref(), Some(&b"v"[..]));

    let error = refusal(&trusting).await;
    assert!(matches!(&error, LinkError::Down { .. }), "{error}");
    let error = refusal(&format!("{trusting}&tls_cert_file={}", certificate.display())).await;
    assert!(error.to_string().contains("`tls_cert_file` and `tls_key_file` must be given together"), "{error}");
    let other = redis.tls_authority().with_file_name("server.key");
    let error =
        refusal(&format!("{trusting}&tls_cert_file={}&tls_key_file={}", certificate.display(), other.display())).await;
    assert!(error.to_string().contains("does not match its key"), "{error}");
    Ok(())
}

#[tokio::test]
async fn unix_socket_is_supported() -> Result<()> {
    let redis = Redis::start(RedisOptions::new().password("secret")).await?;
    let socket = redis.folder().join("socket");
    let link = link(&format!("unix://{}?password=secret&db=1", socket.display())).await?;
    link.command(b"k", &cmd(&["SET", "k", "v"])).await?;
    assert_eq!(link.get(b"k").await?.as_deref(), Some(&b"v"[..]));
    Ok(())
}

// shows: keel::Keel::connect, keel::KeelBuilder::connect, keel::KeelBuilder::connect_with, link::Link::connect
#[tokio::test]
async fn refused_connection_is_one_sentence() -> Result<()> {
    let mut redis = server().await?;
    redis.kill()?;
    let error = refusal(&redis.url()).await;
    assert!(
        matches!(&error, LinkError::Down { address, .. } if address.contains(&redis.port().to_string())),
        "{error}"
    );
    assert!(error.to_string().contains("refused"), "{error}");
    Ok(())
}
