//! The permissions of the Redis user: each kind of command that the library sends is tried on keys and channels like its own.
//!
//! A permission that every program needs is required; for a permission that only some capabilities need, the report warns.

use super::report::Server;
use ::redis::{Cmd, cmd};
use evenkeel::link::Link;

/// The TTL of the test key, in case its deletion fails.
const KEY_TTL_MS: u64 = 2_000;

/// Every permission of the library, as docs/operations.md lists them; `PREFIX` stands for the link's prefix.
const ALL: &str = "resetchannels &PREFIX:* resetkeys ~PREFIX:* ~{PREFIX:* -@all +@connection -@dangerous +client|unblock +info +time \
    +script|load +evalsha +fcall +function|load +function|list +function|delete +@string +@hash +@sortedset +@stream +del +unlink +exists +pexpire +pttl +ssubscribe +sunsubscribe +spublish \
    +scan";

/// What to do if a permission is missing without which no link opens, so that the others cannot be tried.
pub(super) fn remedy_for_all(prefix: &str) -> String {
    let rules = ALL.replace("PREFIX", prefix);
    format!("grant this and every other permission of the library at once (ACL SETUSER name {rules})")
}

/// The commands of one capability.
struct Capability {
    check: &'static str,
    /// The finding if every command is allowed.
    allowed: &'static str,
    /// The ACL rules to grant, as written after `ACL SETUSER name`; `PREFIX` stands for the link's prefix.
    rules: &'static str,
    /// Whether every program needs it.
    is_required: bool,
    commands: Vec<Cmd>,
}

pub(super) async fn examine(link: &Link, server: &mut Server) {
    let prefix = link.prefix();
    for capability in capabilities(prefix) {
        let mut refused: Vec<String> = Vec::new();
        for command in &capability.commands {
            if let Err(error) = link.command(b"doctor", command).await {
                refused.push(error.to_string());
            }
        }
        if capability.check == PUB_SUB && refused.is_empty() {
            // A subscription has a connection of its own.
            let subscribed = link.subscribe(format!("{prefix}:doctor").as_bytes()).await;
            refused.extend(subscribed.err().map(|error| error.to_string()));
        }
        let found = if refused.is_empty() { capability.allowed.to_owned() } else { refused.join("; ") };
        let rules = capability.rules.replace("PREFIX", prefix);
        if capability.is_required {
            let remedy = format!("grant the missing permissions (ACL SETUSER name {rules})");
            server.require(refused.is_empty(), capability.check, found, &remedy);
        } else {
            let remedy = format!("if this user's programs need it, grant it (ACL SETUSER name {rules})");
            server.advise(refused.is_empty(), capability.check, found, &remedy);
        }
    }
}

const PUB_SUB: &str = "pub/sub";

fn capabilities(prefix: &str) -> [Capability; 6] {
    let key = format!("{prefix}:doctor");
    let tagged = format!("{{{prefix}:doctor}}");
    [
        Capability {
            check: "permissions",
            allowed: "may read and write",
            rules: "~PREFIX:* +@read +@write",
            is_required: true,
            commands: vec![
                cmd("SET").arg(&key).arg("1").arg("PX").arg(KEY_TTL_MS).to_owned(),
                cmd("GET").arg(&key).to_owned(),
                cmd("GETRANGE").arg(&key).arg(0).arg(1).to_owned(),
                cmd("PEXPIRE").arg(&key).arg(KEY_TTL_MS).to_owned(),
                cmd("PTTL").arg(&key).to_owned(),
                cmd("DEL").arg(&key).to_owned(),
            ],
        },
        Capability {
            check: PUB_SUB,
            allowed: "may publish and subscribe",
            rules: "&PREFIX:* +ssubscribe +sunsubscribe +spublish",
            is_required: false,
            commands: vec![cmd("SPUBLISH").arg(&key).arg("").to_owned()],
        },
        Capability {
            check: "queues",
            allowed: "may send and consume jobs",
            rules: "~{PREFIX:* +@hash +@sortedset +exists +client|unblock",
            is_required: false,
            commands: vec![
                cmd("EXISTS").arg(&tagged).to_owned(),
                cmd("HGETALL").arg(&tagged).to_owned(),
                cmd("HDEL").arg(&tagged).arg("none").to_owned(),
                cmd("ZPOPMIN").arg(&tagged).to_owned(),
                // No connection has the id 0.
                cmd("CLIENT").arg("UNBLOCK").arg(0).to_owned(),
            ],
        },
        Capability {
            check: "locks",
            allowed: "may acquire and renew locks",
            rules: "~PREFIX:* +@hash +@sortedset +exists",
            is_required: false,
            commands: vec![
                cmd("EXISTS").arg(&key).to_owned(),
                cmd("HDEL").arg(&key).arg("none").to_owned(),
                cmd("ZREM").arg(&key).arg("none").to_owned(),
            ],
        },
        Capability {
            check: "streams",
            allowed: "may append to streams",
            rules: "~{PREFIX:* +xadd +xlen",
            is_required: false,
            commands: vec![
                cmd("XLEN").arg(&tagged).to_owned(),
                // Does not create a stream.
                cmd("XADD").arg(&tagged).arg("NOMKSTREAM").arg("*").arg("name").arg("value").to_owned(),
            ],
        },
        Capability {
            check: "scan",
            allowed: "may list keys",
            rules: "+scan",
            is_required: false,
            commands: vec![cmd("SCAN").arg(0).arg("MATCH").arg(&key).arg("COUNT").arg(1).to_owned()],
        },
    ]
}
