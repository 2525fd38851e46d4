//! Starts, signals and ends a child process.

use super::{spawner, tree};
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The part of a log that an error contains: enough for a panic with its backtrace.
const TAIL_BYTES: usize = 16_384;

/// How long a signaled process may take to stop.
const STOP_DEADLINE: Duration = Duration::from_secs(20);

/// The parameters of a child process, which can be started more than once.
#[derive(Clone, Debug)]
pub struct Launch {
    prefix: Vec<OsString>,
    user: Option<(u32, u32)>,
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    log: PathBuf,
    piped: bool,
}

impl Launch {
    /// The program (a path, or a name on the `PATH`), whose output is appended to the file `log`.
    pub fn new(program: impl Into<OsString>, log: impl Into<PathBuf>) -> Launch {
        Launch {
            prefix: Vec::new(),
            user: None,
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            log: log.into(),
            piped: false,
        }
    }

    /// One more argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Launch {
        self.arguments.push(argument.into());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn arguments<I: IntoIterator<Item: Into<OsString>>>(mut self, arguments: I) -> Launch {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// One more environment variable.
    #[must_use]
    pub fn environment(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Launch {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Runs the program as the system user and group with these ids. This needs root.
    #[must_use]
    pub fn user(mut self, user: u32, group: u32) -> Launch {
        self.user = Some((user, group));
        self
    }

    /// A command line to prepend, such as `chroot DIR`.
    #[must_use]
    pub fn prefix<I: IntoIterator<Item: Into<OsString>>>(mut self, prefix: I) -> Launch {
        self.prefix = prefix.into_iter().map(Into::into).collect();
        self
    }

    /// Limits the size of each file that the program writes, which simulates a full disk until [`Child::lift_file_limit`].
    #[must_use]
    pub fn file_limit_kib(self, kib: u32) -> Launch {
        let limited = format!("trap '' XFSZ; ulimit -S -f {kib}; exec \"$@\"");
        self.prefix(["bash", "-c", &limited, "-"])
    }

    /// Connects standard input and output to pipes, instead of to nothing and to the log.
    #[must_use]
    pub fn piped(mut self) -> Launch {
        self.piped = true;
        self
    }

    /// Runs the program and waits for its end.
    ///
    /// Errors: the program failed; the error contains the end of its log.
    pub fn run(&self) -> Result<()> {
        let mut child = self.start()?;
        let status = child.child.wait()?;
        child.ended = Some(status);
        ensure!(status.success(), "{} failed ({status}):\n{}", self.program.to_string_lossy(), child.log_tail());
        Ok(())
    }

    /// Starts the child. It is killed when the value is dropped, and when this process ends in any way.
    ///
    /// Errors: `setpriv` or the program is missing, or the log cannot be written.
    pub fn start(&self) -> Result<Child> {
        let log = File::options().create(true).append(true).open(&self.log);
        let log = log.with_context(|| format!("could not write the log {}", self.log.display()))?;
        let output = if self.piped { Stdio::piped() } else { log.try_clone()?.into() };
        let mut command = self.command();
        command.stdin(if self.piped { Stdio::piped() } else { Stdio::null() }).stdout(output).stderr(log);
        let child = spawner::spawn(command).context(
            "could not run `setpriv`, which ends children with their parent: if it is missing, run `cargo xtask setup`",
        )?;
        Ok(Child { child, log: self.log.clone(), ended: None })
    }

    /// The death signal is set after the change of user and root, because both reset it.
    fn command(&self) -> Command {
        let words = self.prefix.iter().map(OsString::as_os_str);
        let mut words: Vec<&OsStr> = words.chain([OsStr::new("setpriv"), OsStr::new("--pdeathsig=KILL")]).collect();
        let switches = self.user.map(|(user, group)| [format!("--reuid={user}"), format!("--regid={group}")]);
        if let Some(switches) = &switches {
            words.extend(switches.iter().map(OsStr::new));
            words.push(OsStr::new("--clear-groups"));
        }
        words.extend([OsStr::new("--"), &self.program]);
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(&self.arguments).envs(self.environment.iter().cloned());
        if self.user.is_some() {
            // That user may not have access to the current folder.
            command.current_dir("/");
        }
        // A process group of its own, so that Ctrl-C reaches only the test runner, which ends its children in order.
        command.process_group(0);
        command
    }
}

/// A running child process; dropping it kills the process and its descendants.
#[derive(Debug)]
pub struct Child {
    child: std::process::Child,
    log: PathBuf,
    ended: Option<ExitStatus>,
}

impl Child {
    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lifts the limit of [`Launch::file_limit_kib`], as if there were room on the disk again.
    pub fn lift_file_limit(&self) -> Result<()> {
        let process = Pid::from_child(&self.child);
        prlimit(Some(process), Resource::Fsize, Rlimit { current: None, maximum: None })?;
        Ok(())
    }

    /// The exit status, or `None` while the process is running or paused.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait()?;
        }
        Ok(self.ended)
    }

    /// Pauses the process and its descendants (SIGSTOP): sockets stay open, without replies. Returns once all have stopped.
    pub fn pause(&mut self) -> Result<()> {
        self.must_run("pause")?;
        let began = Instant::now();
        let mut stopped = 0;
        // A process may fork until it has stopped, so this repeats until no new process appears.
        loop {
            let tree = tree::of(self.id());
            tree.iter().for_each(|process| signal(*process, Signal::STOP));
            let all_stopped = tree.iter().all(|process| tree::is_stopped(*process));
            if all_stopped && tree.len() == stopped {
                return Ok(());
            }
            if began.elapsed() > STOP_DEADLINE {
                bail!("process {} did not stop within {STOP_DEADLINE:?}", self.id());
            }
            stopped = if all_stopped { tree.len() } else { 0 };
            std::thread::yield_now();
        }
    }

    /// Resumes the process and its descendants after [`Child::pause`] (SIGCONT).
    pub fn resume(&mut self) -> Result<()> {
        self.must_run("resume")?;
        tree::of(self.id()).into_iter().for_each(|process| signal(process, Signal::CONT));
        Ok(())
    }

    /// Terminates the process (SIGTERM) and waits for its end. A paused process is resumed, because it cannot handle the signal.
    pub async fn terminate(&mut self) -> Result<ExitStatus> {
        if self.ended()?.is_none() {
            signal(self.id(), Signal::TERM);
            self.resume().ok();
        }
        self.wait().await
    }

    /// Waits until the process ends by itself.
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        let id = self.id();
        let child = &mut self.child;
        let what = format!("process {id} ends");
        let ended = crate::eventually(&what, || {
            let status = child.try_wait();
            async move { status.transpose() }
        });
        let status = ended.await??;
        self.ended = Some(status);
        Ok(status)
    }

    /// Kills the process and its descendants (SIGKILL) and waits for their end. Does nothing if it has ended.
    pub fn kill(&mut self) -> Result<()> {
        if self.ended()?.is_none() {
            let tree = tree::of(self.id());
            tree.iter().for_each(|process| signal(*process, Signal::KILL));
            self.ended = Some(self.child.wait()?);
            // Only init can wait for the descendants, and they may share the server's port until they end.
            let began = Instant::now();
            while tree[1..].iter().any(|process| tree::is_alive(*process)) {
                if began.elapsed() > STOP_DEADLINE {
                    bail!("children of process {} outlived it by {STOP_DEADLINE:?}", self.id());
                }
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    /// Kills only the process (SIGKILL), as the kernel or an operator would; its descendants keep running.
    pub fn kill_alone(&mut self) -> Result<()> {
        if self.ended()?.is_none() {
            signal(self.id(), Signal::KILL);
            self.ended = Some(self.child.wait()?);
        }
        Ok(())
    }

    /// The child's standard input, once, if it was launched [`Launch::piped`].
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The child's standard output, once, if it was launched [`Launch::piped`].
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The last 16 KiB of the output.
    #[must_use]
    pub fn log_tail(&self) -> String {
        log_tail(&self.log)
    }

    fn must_run(&mut self, act: &str) -> Result<()> {
        match self.ended()? {
            None => Ok(()),
            Some(status) => bail!("cannot {act} process {}: it has ended ({status})\n{}", self.id(), self.log_tail()),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill().ok();
    }
}

/// The last 16 KiB of a log file, without a leading partial line.
pub(crate) fn log_tail(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let tail = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
    let tail = String::from_utf8_lossy(tail);
    match tail.split_once('\n') {
        Some((_, whole_lines)) if bytes.len() > TAIL_BYTES => whole_lines.to_owned(),
        _ => tail.into_owned(),
    }
}

/// Sends a signal; ignores a process that has ended.
fn signal(process: u32, signal: Signal) {
    if let Some(id) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        kill_process(id, signal).ok();
    }
}
