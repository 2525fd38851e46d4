//! `doctor` against real servers, healthy and misconfigured.

use crate::program::{Ran, evenkeel, evenkeel_async, normal};
use evenkeel::Keel;
use serde_json::Value;
use testkit::servers::{MariaDb, MariaDbOptions, OldRedis, Redis, RedisOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Runs `doctor` on one address.
async fn doctor(url: &str) -> Ran {
    let url = url.to_owned();
    let ran = tokio::task::spawn_blocking(move || evenkeel(&["doctor", &url])).await.unwrap();
    Ran { out: normal(&ran.out), ..ran }
}

// shows: hazard R5
#[tokio::test]
async fn healthy_redis_passes() {
    let redis = Redis::start(RedisOptions::new().memory("64mb", "volatile-lfu")).await.unwrap();
    let ran = doctor(&redis.url()).await;
    assert_eq!(ran.code, 0, "{}", ran.out);
    insta::assert_snapshot!(ran.out);
}

#[tokio::test]
async fn replica_fails() {
    let primary = Redis::start(RedisOptions::new()).await.unwrap();
    let replica = Redis::start(RedisOptions::new().replica_of(primary.port())).await.unwrap();
    let ran = doctor(&replica.url()).await;
    assert_eq!(ran.code, 1, "{}", ran.out);
    insta::assert_snapshot!(ran.out.replace(&format!(":{}", primary.port()), ":PORT"));
}

// shows: hazard PO6
#[tokio::test]
async fn missing_scripting_permission_fails_with_acl_rules() {
    let options = RedisOptions::new().user("app", "hidden", "~* &* +@all -@scripting -config");
    let redis = Redis::start(options).await.unwrap();
    let ran = doctor(&redis.url()).await;
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(!ran.out.contains("hidden"));
    insta::assert_snapshot!(ran.out);
}

#[tokio::test]
async fn missing_capability_permissions_warn_with_acl_rules() {
    let options = RedisOptions::new().user("app", "hidden", "~* &* +@all -exists -scan -client|unblock -xadd -config");
    let redis = Redis::start(options).await.unwrap();
    let ran = doctor(&redis.url()).await;
    assert_eq!(ran.code, 0, "{}", ran.out);
    insta::assert_snapshot!(ran.out);
}

/// The ACL rules in docs/operations.md suffice for everything but CONFIG GET.
#[tokio::test]
async fn documented_acl_rules_suffice() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md")).unwrap();
    let rules = page.lines().find_map(|line| line.strip_prefix("ACL SETUSER app on >password ")).unwrap();
    let redis = Redis::start(RedisOptions::new().user("app", "password", rules)).await.unwrap();
    let ran = doctor(&redis.url()).await;
    assert_eq!(ran.code, 0, "{}", ran.out);
    let warnings: Vec<&str> = ran.out.lines().filter(|line| !line.starts_with("  ok ")).collect();
    assert!(
        matches!(warnings.as_slice(), [memory, tracking] if memory.contains("memory") && tracking.contains("CONFIG GET")),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn wrong_password_fails_and_is_not_printed() {
    let redis = Redis::start(RedisOptions::new().password("right")).await.unwrap();
    let url = redis.url().replace(":right@", ":mistaken@");
    let ran = doctor(&url).await;
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(!ran.out.contains("mistaken") && !ran.err.contains("mistaken"));
    insta::assert_snapshot!(ran.out);
}

#[tokio::test]
async fn server_without_hello_fails_with_required_version() {
    let redis = Redis::start(RedisOptions::new().arguments(["--rename-command", "HELLO", ""])).await.unwrap();
    let ran = doctor(&redis.url()).await;
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("use Redis 7.0 or Valkey 7.2 or later") && !ran.out.contains("password"), "{}", ran.out);
}

// shows: hazard AL14
#[tokio::test]
async fn redis_6_fails_with_required_version() {
    let redis = OldRedis::start("6.2.14").await.unwrap();
    let url = redis.url();
    let ran = tokio::task::spawn_blocking(move || evenkeel(&["doctor", &url])).await.unwrap();
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(
        ran.out.contains("Redis 6.2.14") && ran.out.contains("use Redis 7.0 or Valkey 7.2 or later"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("password") && !ran.out.contains("syntax"), "{}", ran.out);
}

#[tokio::test]
async fn healthy_databases_pass() {
    let maria = testkit::park::mariadb_database().await.unwrap();
    let ran = doctor(&maria.url).await;
    assert_eq!(ran.code, 0, "{}", ran.out);
    insta::assert_snapshot!("mariadb", without_name(&ran.out, &maria.url));

    let postgres = testkit::park::postgres_database().await.unwrap();
    let ran = doctor(&postgres.url).await;
    assert_eq!(ran.code, 0, "{}", ran.out);
    insta::assert_snapshot!("postgres", without_name(&ran.out, &postgres.url));
}

/// Replaces the generated name of the database.
fn without_name(text: &str, url: &str) -> String {
    let name = url.rsplit('/').next().unwrap();
    text.replace(&format!("database      {name}\n"), "database      NAME\n")
}

#[tokio::test]
async fn json_report_has_the_same_verdicts() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let url = redis.url();
    let ran = tokio::task::spawn_blocking(move || evenkeel(&["doctor", "--json", &url])).await.unwrap();
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &report["fail"]), (0, &serde_json::json!(0)));
    let checks = report["servers"][0]["checks"].as_array().unwrap();
    let memory = checks.iter().find(|check| check["check"] == "memory").unwrap();
    assert_eq!(
        (&memory["verdict"], &memory["found"]),
        (&serde_json::json!("warn"), &serde_json::json!("no limit, noeviction"))
    );
    assert!(memory["remedy"].as_str().unwrap().contains("maxmemory"));
}

/// Runs `doctor` on these addresses: its exit code, and the lines that are not `ok`.
async fn troubles(urls: &[&str]) -> (i32, Vec<String>) {
    let ran = evenkeel_async(&[&["doctor"], urls].concat()).await;
    let lines = ran.out.lines().filter(|line| line.starts_with("  warn") || line.starts_with("  FAIL"));
    (ran.code, lines.map(str::to_owned).collect())
}

/// The line of a check.
fn line<'a>(lines: &'a [String], check: &str) -> &'a str {
    let found = lines.iter().find(|line| line.split_whitespace().nth(1) == Some(check));
    found.unwrap_or_else(|| unreachable!("{check}: {lines:#?}"))
}

/// The doctor recommended `volatile-lfu` for every server, also for one with queues, which do not open there, and with held locks, which
/// Redis then evicts.
// shows: hazard PO1, hazard PO2
#[tokio::test]
async fn evicting_policy_fails_where_queues_or_locks_are() {
    let redis = Redis::start(RedisOptions::new().memory("64mb", "volatile-lfu")).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let _held = keel.lock("stock/7").acquire().await.unwrap();
    keel.report_once().await.unwrap();
    let (code, lines) = troubles(&[&redis.url()]).await;
    let memory = line(&lines, "memory");
    assert!(code == 1 && memory.contains("(used by locks) → set maxmemory-policy noeviction"), "{lines:#?}");
    // A service with another prefix.
    let shop = Keel::connect(&format!("{}?prefix=shop", redis.url())).await.unwrap();
    shop.queue::<Value>("mail").allow_eviction().open().await.unwrap();
    let (_, lines) = troubles(&[&format!("{}?prefix=other", redis.url())]).await;
    assert!(line(&lines, "memory").contains("(used by queues) → set maxmemory-policy noeviction"), "{lines:#?}");
    let _: () = redis.command(&["CONFIG", "SET", "save", "3600 1 60 10000"]).await.unwrap();
    let (_, lines) = troubles(&[&redis.url()]).await;
    assert!(
        line(&lines, "persistence").contains("snapshots only (save 3600 1 60 10000) → set appendonly yes"),
        "{lines:#?}"
    );
}

/// Three databases of one Redis passed for the servers of a Redlock.
// shows: hazard PO4
#[tokio::test]
async fn addresses_of_one_server_are_named() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let urls = ["0", "1", "2"].map(|database| format!("{}/{database}", redis.url()));
    let (code, lines) = troubles(&urls.each_ref().map(String::as_str)).await;
    let same = lines.iter().filter(|line| line.contains("the same server as redis://127.0.0.1"));
    assert_eq!((code, same.count()), (0, 2), "{lines:#?}");
}

/// "Start the server" was the remedy for every one of these.
// shows: hazard PO5, hazard PO6
#[tokio::test]
async fn cause_of_a_failed_redis_connection_is_named() {
    let plain = Redis::start(RedisOptions::new()).await.unwrap();
    let tls = Redis::start(RedisOptions::new().tls()).await.unwrap();
    let renamed = Redis::start(RedisOptions::new().arguments(["--rename-command", "INFO", ""])).await.unwrap();
    let user = RedisOptions::new().user("app", "hidden", "~* &* +@all -info -time -evalsha");
    let denied = Redis::start(user).await.unwrap();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md")).unwrap();
    let rules = page.lines().find_map(|line| line.strip_prefix("ACL SETUSER app on >password ")).unwrap();
    let without_file = format!("{}?tls_ca_file=no-such-folder/ca.pem", tls.url());
    for (url, code, text) in [
        (tls.url().replace("rediss:", "redis:"), 2, "write rediss:// instead of redis://"),
        (
            plain.url().replace("redis:", "rediss:") + "?connect_timeout_ms=200",
            2,
            "write redis:// instead of rediss://",
        ),
        (without_file, 2, "cannot read no-such-folder/ca.pem, the file of `tls_ca_file`"),
        (renamed.url(), 1, "rename-command"),
        (denied.url(), 1, rules),
        (format!("{}/99", plain.url()), 1, "correct the number of the database"),
    ] {
        let (found, lines) = troubles(&[&url]).await;
        let [line] = lines.as_slice() else { unreachable!("{url}: {lines:#?}") };
        assert!(found == code && line.contains(text), "{url}: {found}: {line}");
        assert!(!line.contains("start the server") && !line.contains("password") && !line.contains("hidden"), "{line}");
    }
}

/// A wrong password of a database was an unreachable server, and missing permissions came one in a run.
// shows: hazard PO4, hazard PO5, hazard PO6, hazard T22, hazard T32
#[tokio::test]
async fn mariadb_causes_permissions_and_settings_are_named() {
    let options = MariaDbOptions::new().arguments(["--log-bin=bin", "--server-id=3", "--binlog-format=STATEMENT"]);
    let maria = MariaDb::start(options).await.unwrap();
    for statement in [
        "CREATE DATABASE own",
        "CREATE USER app IDENTIFIED BY 'sesame'",
        "GRANT SELECT, INSERT ON own.* TO app",
        "SET GLOBAL tx_read_only = 1",
    ] {
        maria.execute(statement).await.unwrap();
    }
    let url = |login: &str, name: &str| maria.database_url(name).replace("root@", &format!("{login}@"));
    for (url, text) in [
        (url("app:mistaken", "own"), "correct the user or the password"),
        (url("root", "none"), "create the database"),
        (url("app:sesame", "mysql"), "grant this user permissions on the database"),
    ] {
        let (code, lines) = troubles(&[&url]).await;
        let [line] = lines.as_slice() else { unreachable!("{url}: {lines:#?}") };
        assert!(code == 1 && line.contains(text) && !line.contains("mistaken"), "{code}: {line}");
    }
    let without_file = url("root", "own") + "?ssl-ca=no-such-folder/ca.pem";
    assert!(troubles(&[&without_file]).await.1[0].contains("cannot read no-such-folder/ca.pem"));
    let (code, lines) = troubles(&[&url("app:sesame", "own")]).await;
    assert_eq!(code, 1);
    assert!(line(&lines, "permissions").contains("GRANT ALTER, CREATE, DELETE, DROP, INDEX, UPDATE on"), "{lines:#?}");
    assert!(line(&lines, "writable").contains("tx_read_only"), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("  FAIL  binary log") && line.contains("1665")), "{lines:#?}");
    maria.execute("SET GLOBAL sql_mode = 'ORACLE'").await.unwrap();
    maria.execute("SET GLOBAL sql_select_limit = 1").await.unwrap();
    maria.execute("SET GLOBAL completion_type = 'CHAIN'").await.unwrap();
    let (code, lines) = troubles(&[&url("root", "own")]).await;
    assert_eq!(code, 1);
    for cause in ["remove ORACLE from sql_mode", "sql_select_limit = DEFAULT", "completion_type = 'NO_CHAIN'"] {
        assert!(lines.iter().any(|line| line.contains(cause)), "{lines:#?}");
    }
}

/// The driver adds the line of PostgreSQL's source code to its messages: "password authentication failed at line 948".
// shows: hazard PO4, hazard PO6, hazard PO7
#[tokio::test]
async fn postgres_causes_permissions_and_settings_are_named() {
    let database = testkit::park::postgres_database().await.unwrap();
    let pool = sqlx::PgPool::connect(&database.url).await.unwrap();
    evenkeel::sql::migrate(&pool).await.unwrap();
    let (server, name) = database.url.rsplit_once('/').unwrap();
    let (_, host) = server.rsplit_once('@').unwrap();
    let role = format!("app_{name}");
    for statement in [format!("CREATE ROLE {role} LOGIN"), format!("GRANT SELECT, INSERT ON evenkeel_outbox TO {role}")]
    {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&pool).await.unwrap();
    }
    for (url, text) in [
        (format!("{server}/there_is_none"), "create the database"),
        (format!("postgres://nobody_{name}@{host}/{name}"), "correct the user or the password"),
    ] {
        let (code, lines) = troubles(&[&url]).await;
        assert!(code == 1 && lines[0].contains(text) && !lines[0].contains("at line"), "{code}: {lines:#?}");
    }
    let app = format!("postgres://{role}@{host}/{name}");
    let (code, lines) = troubles(&[&app]).await;
    let permissions = line(&lines, "permissions");
    assert!(
        code == 1 && permissions.contains("DELETE ON evenkeel_outbox") && permissions.contains("ON evenkeel_inbox")
    );
    let read_only = format!("ALTER ROLE {role} SET default_transaction_read_only = on");
    sqlx::raw_sql(sqlx::AssertSqlSafe(read_only)).execute(&pool).await.unwrap();
    let (_, lines) = troubles(&[&app]).await;
    assert!(line(&lines, "writable").contains("ALTER ROLE"), "{lines:#?}");
    for statement in [format!("DROP OWNED BY {role}"), format!("DROP ROLE {role}")] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&pool).await.unwrap();
    }
}

/// Answers one connection in the protocol of PostgreSQL: every query has one row with this number.
async fn answer(mut stream: TcpStream, number: &str) -> std::io::Result<()> {
    let message = |kind: u8, body: &[u8]| {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[kind], &length[..], body].concat()
    };
    let ready = message(b'Z', b"I");
    loop {
        let length = stream.read_u32().await?;
        let mut body = vec![0; length as usize - 4];
        stream.read_exact(&mut body).await?;
        // A client asks for TLS before it logs in.
        if body != 80_877_103_u32.to_be_bytes() {
            break;
        }
        stream.write_all(b"N").await?;
    }
    stream.write_all(&[message(b'R', &[0; 4]), ready.clone()].concat()).await?;
    loop {
        let (kind, length) = (stream.read_u8().await?, stream.read_u32().await?);
        let mut body = vec![0; length as usize - 4];
        stream.read_exact(&mut body).await?;
        if kind == b'Q' {
            let column = b"\x00\x01pid\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00";
            let value = [&b"\x00\x01\x00\x00\x00\x04"[..], number.as_bytes()].concat();
            let parts = [message(b'T', column), message(b'D', &value), message(b'C', b"SELECT 1\0"), ready.clone()];
            stream.write_all(&parts.concat()).await?;
        }
    }
}

/// A pooler in transaction mode lends one session of the server to every connection.
// shows: hazard PO4
#[tokio::test]
async fn pooler_in_transaction_mode_fails() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://app@{}/shop", listener.local_addr().unwrap());
    let pooler = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(answer(stream, "4711"));
        }
    });
    let (code, lines) = troubles(&[&url]).await;
    pooler.abort();
    assert!(code == 1 && line(&lines, "session").contains("a pooler in session mode"), "{lines:#?}");
}

/// The value of a check's line.
async fn found(url: &str, check: &str) -> String {
    let ran = doctor(url).await;
    let line = ran.out.lines().find(|line| line.split_whitespace().nth(1) == Some(check));
    line.unwrap_or_else(|| unreachable!("{check}: {}", ran.out)).trim().to_owned()
}

/// Regression: the variable is unsigned, so it could not be read, and was reported as 0.
// shows: hazard T8
#[tokio::test]
async fn variables_of_mariadb_are_read_whatever_their_type() {
    let maria = MariaDb::start(MariaDbOptions::new()).await.unwrap();
    maria.execute("CREATE DATABASE shop").await.unwrap();
    let url = maria.database_url("shop");
    for flush in ["0", "1", "2"] {
        maria.execute(&format!("SET GLOBAL innodb_flush_log_at_trx_commit = {flush}")).await.unwrap();
        let line = found(&url, "durability").await;
        let verdict = if flush == "1" { "ok" } else { "warn" };
        assert!(line.starts_with(verdict), "{line}");
        assert!(line.contains(&format!("innodb_flush_log_at_trx_commit={flush}")), "{line}");
    }
    maria.execute("SET GLOBAL read_only = ON").await.unwrap();
    assert!(found(&url, "writable").await.starts_with("FAIL"));
    maria.execute("SET GLOBAL read_only = OFF").await.unwrap();
    maria.execute("SET GLOBAL tx_read_only = ON").await.unwrap();
    assert!(found(&url, "writable").await.starts_with("FAIL"));
}

/// Regression: a library of functions was left on a Redis that had none.
// shows: hazard T10
#[tokio::test]
async fn checks_leave_nothing_on_a_redis() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let libraries = async || redis.command::<Vec<redis::Value>>(&["FUNCTION", "LIST"]).await.unwrap().len();
    assert_eq!(doctor(&redis.url()).await.code, 0);
    assert_eq!(libraries().await, 0);
    // Those of programs stay.
    let keel = Keel::connect(&redis.url()).await.unwrap();
    keel.queue::<Value>("mail").open().await.unwrap();
    let of_programs = libraries().await;
    assert!(of_programs > 0);
    let ran = doctor(&redis.url()).await;
    assert!(ran.out.contains(&format!("Evenkeel's libraries: {of_programs}")), "{}", ran.out);
    assert_eq!(libraries().await, of_programs);
}
