//! The commands that a Redis executes, for example to prove that a hit costs one `GET`.

use crate::servers::Redis;
use anyhow::{Context, Result, bail, ensure};
use std::iter::Peekable;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;

/// The time limit of a line of `MONITOR` after a command was sent.
const DEADLINE: Duration = Duration::from_secs(60);

/// Reads `MONITOR` of a Redis that no other test uses.
///
/// The test kit's own commands over the Unix socket ([`Redis::command`]) are omitted. Redis does not show `AUTH`, `HELLO` with a
/// password, and administrative commands such as `CONFIG`.
#[derive(Debug)]
pub struct CommandTrace {
    lines: Lines<BufReader<UnixStream>>,
}

/// One executed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedCommand {
    /// The name in upper case: `GET`.
    pub name: String,
    /// The arguments; bytes that are not UTF-8 are replaced.
    pub arguments: Vec<String>,
    /// Whether a script called it. Such a command costs no round trip.
    pub from_script: bool,
}

/// Executed commands in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace(pub Vec<TracedCommand>);

impl CommandTrace {
    /// Starts the trace: it contains every command that is executed after this returns.
    pub async fn start(redis: &Redis) -> Result<CommandTrace> {
        let stream = UnixStream::connect(redis.socket()).await.context("could not connect to Redis")?;
        let mut lines = BufReader::new(stream).lines();
        for command in redis.login().into_iter().chain(["MONITOR".to_owned()]) {
            lines.get_mut().write_all(format!("{command}\r\n").as_bytes()).await?;
            let answer = next(&mut lines).await?;
            ensure!(answer == "+OK", "Redis replied {answer} to {}", command.split(' ').next().unwrap_or_default());
        }
        Ok(CommandTrace { lines })
    }

    /// All commands executed since the start or the last call. The result is complete, because this waits for a marker command.
    pub async fn take(&mut self, redis: &Redis) -> Result<Trace> {
        let marker = format!("trace-{:016x}", rand::random::<u64>());
        redis.command::<()>(&["ECHO", &marker]).await?;
        let mut trace = Trace::default();
        loop {
            let line = next(&mut self.lines).await?;
            let (from, command) =
                parse(&line).with_context(|| format!("could not read this line of MONITOR: {line}"))?;
            match from {
                From::Kit if command.arguments == [marker.as_str()] => return Ok(trace),
                From::Kit => {}
                From::Client | From::Script => trace.0.push(command),
            }
        }
    }
}

impl Trace {
    /// The number of commands with this name.
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|command| command.name.eq_ignore_ascii_case(name)).count()
    }

    /// The names of the commands in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|command| command.name.as_str()).collect()
    }

    /// Only the commands that clients sent, without those that scripts called.
    #[must_use]
    pub fn from_clients(&self) -> Trace {
        self.only(|command| !command.from_script)
    }

    /// Only the commands with an argument that begins with `prefix`.
    #[must_use]
    pub fn on_prefix(&self, prefix: &str) -> Trace {
        self.only(|command| command.arguments.iter().any(|argument| argument.starts_with(prefix)))
    }

    fn only(&self, requested: impl Fn(&TracedCommand) -> bool) -> Trace {
        Trace(self.0.iter().filter(|command| requested(command)).cloned().collect())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Client,
    Script,
    Kit,
}

async fn next(lines: &mut Lines<BufReader<UnixStream>>) -> Result<String> {
    match tokio::time::timeout(DEADLINE, lines.next_line()).await {
        Ok(Ok(Some(line))) => Ok(line),
        Ok(Ok(None)) => bail!("Redis closed the connection of MONITOR"),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => bail!("MONITOR returned nothing for {DEADLINE:?}"),
    }
}

/// `+1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`; instead of the address there may be `lua` or `unix:PATH`.
fn parse(line: &str) -> Option<(From, TracedCommand)> {
    let (_, rest) = line.split_once(" [")?;
    let (origin, words) = rest.split_once("] ")?;
    let from = match origin.split_once(' ')?.1 {
        "lua" => From::Script,
        address if address.starts_with("unix:") => From::Kit,
        _ => From::Client,
    };
    let mut words = unquote(words)?.into_iter();
    let name = words.next()?.to_uppercase();
    Some((from, TracedCommand { name, arguments: words.collect(), from_script: from == From::Script }))
}

/// Parses quoted words with the escapes of `MONITOR`.
fn unquote(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => words.push(word(&mut bytes)?),
            b' ' => {}
            _ => return None,
        }
    }
    Some(words)
}

/// Reads a word up to its closing quote. Valkey 8.1 does not escape quotes within a word, so a quote ends it only before a space or
/// the end.
fn word(bytes: &mut Peekable<impl Iterator<Item = u8>>) -> Option<String> {
    let mut word = Vec::new();
    loop {
        match bytes.next()? {
            b'"' if bytes.peek().is_none_or(|next| *next == b' ') => {
                return Some(String::from_utf8_lossy(&word).into_owned());
            }
            b'\\' => word.push(match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'a' => 7,
                b'b' => 8,
                b'x' => hex(bytes.next()?)? * 16 + hex(bytes.next()?)?,
                other => other,
            }),
            byte => word.push(byte),
        }
    }
}

fn hex(digit: u8) -> Option<u8> {
    u8::try_from(char::from(digit).to_digit(16)?).ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test reports a failure by panicking")]
mod tests {
    use super::*;

    #[test]
    fn origin_of_a_command_is_recognized() {
        let (from, command) = parse(r#"+1.2 [0 127.0.0.1:60866] "set" "a b]" "\x00\"\\\r\n\xc5\xbe""#).unwrap();
        assert_eq!(from, From::Client);
        assert_eq!(
            (command.name.as_str(), &command.arguments[..]),
            ("SET", &["a b]".into(), "\0\"\\\r\nž".into()][..])
        );
        assert_eq!(parse(r#"+1.2 [0 lua] "set" ""a"" """#).unwrap().1.arguments, ["\"a\"", ""]);
        assert_eq!(parse(r#"+1.2 [3 lua] "get" "k""#).unwrap().0, From::Script);
        assert_eq!(parse(r#"+1.2 [0 unix:/tmp/socket] "echo" "k""#).unwrap().0, From::Kit);
    }

    #[test]
    fn malformed_line_is_rejected() {
        for line in ["+OK", r#"+1.2 [0 lua] "get" "k"#, r#"+1.2 [0 lua] get"#, r#"+1.2 [0 lua] "\x0"#] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
