//! The configuration of a [`Redis`](super::Redis).

/// The configuration; the default is an empty, unprotected, memory-only Redis.
///
/// Names, passwords and rules are inserted into URLs and configuration unescaped: use letters, digits and `~*@+-&`.
#[derive(Clone, Debug, Default)]
pub struct RedisOptions {
    pub(super) password: Option<String>,
    pub(super) user: Option<(String, String)>,
    pub(super) tls: bool,
    pub(super) tls_clients: bool,
    pub(super) arguments: Vec<String>,
}

impl RedisOptions {
    /// An empty, unprotected, memory-only Redis.
    #[must_use]
    pub fn new() -> RedisOptions {
        RedisOptions::default()
    }

    /// The password of the default user.
    #[must_use]
    pub fn password(mut self, password: &str) -> RedisOptions {
        self.password = Some(password.to_owned());
        self.arguments(["--requirepass", password])
    }

    /// One more ACL user; [`Redis::url`](super::Redis::url) then uses it. `rules` are ACL rules, such as `~* &* +@all`.
    #[must_use]
    pub fn user(mut self, name: &str, password: &str, rules: &str) -> RedisOptions {
        self.user = Some((name.to_owned(), password.to_owned()));
        let password = format!(">{password}");
        self.arguments(["--user", name, "on", &password]).arguments(rules.split_whitespace())
    }

    /// Writes an append-only file (without fsync), so that the data survives a restart.
    #[must_use]
    pub fn append_only(self) -> RedisOptions {
        self.arguments(["--appendonly", "yes", "--appendfsync", "no"])
    }

    /// The memory limit (`64mb`) and the eviction policy (`noeviction`, `allkeys-lru`, ...).
    #[must_use]
    pub fn memory(self, bytes: &str, policy: &str) -> RedisOptions {
        self.arguments(["--maxmemory", bytes, "--maxmemory-policy", policy])
    }

    /// Accepts only TLS, with a certificate for `localhost` and `127.0.0.1` of a certificate authority of its own.
    #[must_use]
    pub fn tls(mut self) -> RedisOptions {
        self.tls = true;
        self
    }

    /// Like [`tls`](RedisOptions::tls), and accepts only clients with a certificate of that authority.
    #[must_use]
    pub fn tls_clients(mut self) -> RedisOptions {
        self.tls_clients = true;
        self.tls()
    }

    /// Replicates the Redis on this loopback port.
    #[must_use]
    pub fn replica_of(self, port: u16) -> RedisOptions {
        self.arguments(["--replicaof", "127.0.0.1", &port.to_string()])
    }

    /// More arguments of `redis-server`.
    #[must_use]
    pub fn arguments<I: IntoIterator<Item: Into<String>>>(mut self, arguments: I) -> RedisOptions {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }
}
