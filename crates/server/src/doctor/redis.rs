//! The checks of a Redis or Valkey server, run over the same link that a service uses.

use super::report::Server;
use super::uses::{self, Uses};
use super::{permissions, reach};
use crate::address::Address;
use ::redis::{Cmd, FromRedisValue, cmd};
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkError, LinkOptions};
use std::collections::HashMap;
use std::time::Duration;

/// Round trips that the latency check measures.
const ROUND_TRIPS: usize = 21;
/// With a slower link, a cache hit costs more than many database queries.
const ROUND_TRIP_MAX: Duration = Duration::from_millis(5);
/// No protocol depends on synchronized clocks; skew only makes logs hard to compare.
const SKEW_MAX_MS: u64 = 1_000;

pub(super) const VERSION_REMEDY: &str = "use Redis 7.0 or Valkey 7.2 or later";

/// The fields of `INFO`.
pub(super) type Info = HashMap<String, String>;

pub(super) async fn examine(address: &Address, server: &mut Server) {
    let clock = Clock::system();
    let options = match LinkOptions::from_url(&address.url) {
        Ok(options) => options,
        Err(error) => {
            return server.fail("address", address.without_secrets(&error.to_string()), "correct the address");
        }
    };
    let link = match Link::connect(options, clock.clone()).await {
        Ok(link) => link,
        Err(error) => return reach::of_redis(address, server, &error, clock).await,
    };
    server.reached = true;
    server.ok("connect", "connected");
    server.ok("role", "primary");
    let doctor = Doctor { link, clock };
    let known = doctor.libraries().await;
    match doctor.info().await {
        Ok(info) => {
            version(server, &info);
            topology(server, &info);
            let uses = Uses::read(&doctor.link).await;
            uses::memory(server, &info, uses);
            uses::persistence(server, &info, doctor.setting("save").await.as_deref(), uses);
            server.run_id = info.get("run_id").cloned();
        }
        Err(error) => server.fail("settings", error.to_string(), "allow this user INFO (ACL SETUSER name +info)"),
    }
    doctor.protocol(server).await;
    doctor.functions(server, known.as_deref()).await;
    doctor.scripts(server).await;
    permissions::examine(&doctor.link, server).await;
    doctor.tracking(server).await;
    doctor.times(server).await;
    doctor.remove_libraries(known.as_deref()).await;
}

/// Sends a command and reads its reply.
pub(super) async fn ask<T: FromRedisValue>(link: &Link, command: &Cmd) -> Result<T, LinkError> {
    let value = link.command(b"doctor", command).await?;
    ::redis::from_redis_value(value).map_err(|error| LinkError::Unexpected(error.to_string()))
}

struct Doctor {
    link: Link,
    clock: Clock,
}

impl Doctor {
    async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, LinkError> {
        ask(&self.link, command).await
    }

    async fn info(&self) -> Result<Info, LinkError> {
        let text: String = self.ask(&cmd("INFO")).await?;
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        Ok(pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect())
    }

    /// Near caches receive their invalidations as push messages, which only RESP3 has.
    async fn protocol(&self, server: &mut Server) {
        let remedy = "use a server, and a proxy if any, that speaks RESP3";
        match self.ask::<HashMap<String, ::redis::Value>>(&cmd("HELLO")).await {
            Ok(fields) => {
                let three = matches!(fields.get("proto"), Some(::redis::Value::Int(3)));
                server.require(three, "protocol", if three { "RESP3" } else { "RESP2" }, remedy);
            }
            Err(error) => server.fail("protocol", error.to_string(), remedy),
        }
    }

    /// Steps are functions; a server that refuses them runs the same source as scripts.
    async fn functions(&self, server: &mut Server, known: Option<&[String]>) {
        let library =
            "#!lua name=doctor_of_evenkeel\nredis.register_function('doctor_of_evenkeel', function() return 1 end)";
        let loaded = self.ask::<String>(cmd("FUNCTION").arg("LOAD").arg(library)).await;
        let loaded = loaded.err().filter(|error| !error.to_string().contains("already exists"));
        let refused = match loaded {
            Some(error) => Some(error),
            None => self.ask::<u64>(cmd("FCALL").arg("doctor_of_evenkeel").arg(0)).await.err(),
        };
        // Without the right to delete it, it stays, and the next check finds it.
        let _ = self.ask::<()>(cmd("FUNCTION").arg("DELETE").arg("doctor_of_evenkeel")).await;
        let remedy = "without them scripts are used, which take more of Redis's time: allow this user FCALL and \
                      FUNCTION LOAD (ACL SETUSER name +fcall +function|load), or use a server that has them";
        let found = match &refused {
            Some(error) => error.to_string(),
            None => match known {
                Some(known) => format!("loaded and ran a function; Evenkeel's libraries: {}", known.len()),
                None => "loaded and ran a function".to_owned(),
            },
        };
        server.advise(refused.is_none(), "functions", found, remedy);
    }

    /// The names of the libraries of programs; `None` if this user may not list them.
    async fn libraries(&self) -> Option<Vec<String>> {
        let list = cmd("FUNCTION").arg("LIST").arg("LIBRARYNAME").arg("evenkeel_*").take();
        let listed = self.ask::<Vec<HashMap<String, ::redis::Value>>>(&list).await.ok()?;
        let name = |mut library: HashMap<String, ::redis::Value>| {
            String::from_redis_value(library.remove("library_name")?).ok()
        };
        Some(listed.into_iter().filter_map(name).collect())
    }

    /// Deletes the libraries that the checks have loaded. A program of this version that has begun to use one of them meanwhile loads it again.
    async fn remove_libraries(&self, known: Option<&[String]>) {
        let (Some(known), Some(now)) = (known, self.libraries().await) else { return };
        for name in now.iter().filter(|name| !known.contains(name)) {
            let _ = self.ask::<()>(cmd("FUNCTION").arg("DELETE").arg(name)).await;
        }
    }

    async fn scripts(&self, server: &mut Server) {
        let remedy = "allow this user EVAL, EVALSHA and SCRIPT LOAD (ACL SETUSER name +@scripting)";
        let script = "return redis.call('TIME')[1]";
        let loaded = self.ask::<String>(cmd("SCRIPT").arg("LOAD").arg(script)).await;
        // Without a loaded script, the reply is NOSCRIPT, or that this user may not run any.
        let hash = loaded.as_deref().unwrap_or("0000000000000000000000000000000000000000");
        let ran = self.ask::<u64>(cmd("EVALSHA").arg(hash).arg(0)).await;
        let is_denied =
            |error: &LinkError| loaded.is_ok() || matches!(error, LinkError::Refused { code, .. } if code == "NOPERM");
        let errors = [loaded.as_ref().err(), ran.as_ref().err().filter(|error| is_denied(error))];
        let errors: Vec<String> = errors.into_iter().flatten().map(ToString::to_string).collect();
        server.require(
            errors.is_empty(),
            "scripts",
            if errors.is_empty() { "loaded and ran a script".to_owned() } else { errors.join("; ") },
            remedy,
        );
    }

    /// A setting of the server, if this user may read it.
    async fn setting(&self, name: &str) -> Option<String> {
        let fields = self.ask::<HashMap<String, String>>(cmd("CONFIG").arg("GET").arg(name)).await;
        fields.ok().and_then(|mut fields| fields.remove(name))
    }

    async fn tracking(&self, server: &mut Server) {
        match self.setting("tracking-table-max-keys").await.as_deref() {
            Some("0") => server.ok("tracking", "no limit on tracked keys"),
            Some(keys) => server.ok("tracking", format!("at most {keys} tracked keys")),
            None => server.warn(
                "tracking",
                "unknown: this user may not run CONFIG GET",
                "make sure that tracking-table-max-keys exceeds the number of keys in near caches",
            ),
        }
    }

    async fn times(&self, server: &mut Server) {
        let mut spans = Vec::with_capacity(ROUND_TRIPS);
        let mut skew_ms = u64::MAX;
        for _ in 0..ROUND_TRIPS {
            let before = self.clock.now();
            let Ok((seconds, micros)) = self.ask::<(u64, u64)>(&cmd("TIME")).await else { continue };
            let span = self.clock.now().since(before);
            let here_ms = self.clock.unix_ms();
            skew_ms = skew_ms.min((seconds * 1_000 + micros / 1_000).abs_diff(here_ms));
            spans.push(span);
        }
        spans.sort_unstable();
        let Some(median) = spans.get(spans.len() / 2) else {
            return server.fail("latency", "TIME failed", "allow this user TIME (ACL SETUSER name +time)");
        };
        let found = format!("median round trip {:.2} ms", median.as_secs_f64() * 1_000.0);
        server.advise(*median <= ROUND_TRIP_MAX, "latency", found, "run the service closer to its Redis");
        let remedy = "synchronize the clocks of both machines: otherwise times in logs do not match";
        server.advise(skew_ms <= SKEW_MAX_MS, "clock skew", format!("{skew_ms} ms"), remedy);
    }
}

fn version(server: &mut Server, info: &Info) {
    let (name, version, needed) = match info.get("valkey_version") {
        Some(version) => ("Valkey", version.as_str(), (7, 2)),
        None => ("Redis", info.get("redis_version").map_or("0", String::as_str), (7, 0)),
    };
    let parts: Vec<u32> = version.split('.').filter_map(|part| part.parse().ok()).collect();
    let enough = matches!(parts.as_slice(), [major, minor, ..] if (*major, *minor) >= needed);
    server.require(enough, "version", format!("{name} {version}"), VERSION_REMEDY);
}

fn topology(server: &mut Server, info: &Info) {
    let field = |name: &str| info.get(name).map_or("", String::as_str);
    let remedy = "use a server that is not part of a cluster: this version of Evenkeel connects to one primary";
    let single = field("cluster_enabled") != "1";
    server.require(
        single,
        "topology",
        if single {
            format!("one primary, {} replicas", field("connected_slaves"))
        } else {
            "Redis Cluster".to_owned()
        },
        remedy,
    );
}
