//! What the Redis user may do: each kind of command the library sends, tried on keys and channels like its own.
//!
//! What every program needs must be allowed; of what only some of them use, the report says who would miss it.

use super::report::Server;
use ::redis::{Cmd, cmd};
use evenkeel::link::Link;

/// Written and removed again; lives this long should the removal fail.
const KEY_LIFE_MS: u64 = 2_000;

/// What one part of the library sends.
struct Use {
    check: &'static str,
    allowed: &'static str,
    /// What an operator would grant, behind `ACL SETUSER name`; `PREFIX` is the link's.
    rights: &'static str,
    /// Whether every program needs it.
    always: bool,
    tries: Vec<Cmd>,
}

pub(super) async fn examine(link: &Link, server: &mut Server) {
    let prefix = link.prefix();
    for part in uses(prefix) {
        let mut refused: Vec<String> = Vec::new();
        for command in &part.tries {
            if let Err(error) = link.command(b"doctor", command).await {
                refused.push(error.to_string());
            }
        }
        if part.check == WAKING && refused.is_empty() {
            // The channel has a connection of its own.
            let heard = link.subscribe(format!("{prefix}:doctor").as_bytes()).await;
            refused.extend(heard.err().map(|error| error.to_string()));
        }
        let found = if refused.is_empty() { part.allowed.to_owned() } else { refused.join("; ") };
        let rights = part.rights.replace("PREFIX", prefix);
        if part.always {
            let remedy = format!("allow this user what it needs (ACL SETUSER name {rights})");
            server.judge(refused.is_empty(), part.check, found, &remedy);
        } else {
            let remedy = format!("if this user's programs use it, allow it (ACL SETUSER name {rights})");
            server.advise(refused.is_empty(), part.check, found, &remedy);
        }
    }
}

const WAKING: &str = "waking";

fn uses(prefix: &str) -> [Use; 6] {
    let key = format!("{prefix}:doctor");
    let tagged = format!("{{{prefix}:doctor}}");
    [
        Use {
            check: "permission",
            allowed: "reads and writes",
            rights: "~PREFIX:* +@read +@write",
            always: true,
            tries: vec![
                cmd("SET").arg(&key).arg("1").arg("PX").arg(KEY_LIFE_MS).to_owned(),
                cmd("GET").arg(&key).to_owned(),
                cmd("GETRANGE").arg(&key).arg(0).arg(1).to_owned(),
                cmd("PEXPIRE").arg(&key).arg(KEY_LIFE_MS).to_owned(),
                cmd("PTTL").arg(&key).to_owned(),
                cmd("DEL").arg(&key).to_owned(),
            ],
        },
        Use {
            check: WAKING,
            allowed: "who waits is woken",
            rights: "&PREFIX:* +ssubscribe +sunsubscribe +spublish",
            always: false,
            tries: vec![cmd("SPUBLISH").arg(&key).arg("").to_owned()],
        },
        Use {
            check: "queues",
            allowed: "sends and consumes jobs",
            rights: "~{PREFIX:* +@hash +@sortedset +exists +client|unblock",
            always: false,
            tries: vec![
                cmd("EXISTS").arg(&tagged).to_owned(),
                cmd("HGETALL").arg(&tagged).to_owned(),
                cmd("HDEL").arg(&tagged).arg("none").to_owned(),
                cmd("ZPOPMIN").arg(&tagged).to_owned(),
                // No connection has this number.
                cmd("CLIENT").arg("UNBLOCK").arg(0).to_owned(),
            ],
        },
        Use {
            check: "locks",
            allowed: "takes and keeps locks",
            rights: "~PREFIX:* +@hash +@sortedset +exists",
            always: false,
            tries: vec![
                cmd("EXISTS").arg(&key).to_owned(),
                cmd("HDEL").arg(&key).arg("none").to_owned(),
                cmd("ZREM").arg(&key).arg("none").to_owned(),
            ],
        },
        Use {
            check: "streams",
            allowed: "appends to streams",
            rights: "~{PREFIX:* +xadd +xlen",
            always: false,
            tries: vec![
                cmd("XLEN").arg(&tagged).to_owned(),
                // Makes no stream where there is none.
                cmd("XADD").arg(&tagged).arg("NOMKSTREAM").arg("*").arg("name").arg("value").to_owned(),
            ],
        },
        Use {
            check: "listings",
            allowed: "lists keys",
            rights: "+scan",
            always: false,
            tries: vec![cmd("SCAN").arg(0).arg("MATCH").arg(&key).arg("COUNT").arg(1).to_owned()],
        },
    ]
}
