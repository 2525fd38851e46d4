//! The program's first output: usage errors and the address it listens on.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, Parser};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Parses the flags of `program`, runs it, and prints the error if it cannot start.
pub fn main<F: Parser>(program: &str, run: impl FnOnce(F) -> anyhow::Result<ExitCode>) -> ExitCode {
    match parse(std::env::args_os().collect()).map(run) {
        Err(error) => usage_error(program, &error),
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            eprintln!("{program}: {error:#}");
            ExitCode::from(EXIT_NOT_STARTED)
        }
    }
}

/// Exit code of a program that could not start: a wrong flag or setting, a folder, a port, a server.
const EXIT_NOT_STARTED: u8 = 2;

/// The default command, which has all options of the program.
const DEFAULT_COMMAND: &str = "serve";

/// Parses a command line. An empty environment variable counts as unset, and an option before `serve` as one of it. An option that
/// another command does not have is an error, also before its name.
fn parse<F: Parser>(arguments: Vec<OsString>) -> Result<F, clap::Error> {
    let mut command = F::command().mut_args(without_empty_variable);
    command = command.mut_subcommands(|command| command.mut_args(without_empty_variable));
    let arguments = options_after_default_command(&command, arguments);
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    if let Some(option) = foreign_option(&command, &matches) {
        let name = matches.subcommand_name().unwrap_or_default();
        return Err(
            command.error(ErrorKind::ArgumentConflict, format!("the command '{name}' has no option '--{option}'"))
        );
    }
    F::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// The argument without its environment variable, if that is empty.
fn without_empty_variable(argument: Arg) -> Arg {
    let is_empty = argument.get_env().is_some_and(|name| std::env::var_os(name).is_some_and(|value| value.is_empty()));
    if is_empty { argument.env(None::<&str>) } else { argument }
}

/// Moves the options before `serve` behind it: clap would give them to the program, and the command would not see them.
fn options_after_default_command(command: &Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_complete = |before: &[OsString]| {
        let matches = command.clone().try_get_matches_from(before);
        matches.is_ok_and(|matches| matches.subcommand_name().is_none())
    };
    // The word may also be the value of an option.
    let found = (1..arguments.len()).find(|at| arguments[*at] == DEFAULT_COMMAND && is_complete(&arguments[..*at]));
    if let Some(at) = found {
        arguments[1..=at].rotate_right(1);
    }
    arguments
}

/// An option of the default command that was given to another one.
fn foreign_option(command: &Command, matches: &ArgMatches) -> Option<String> {
    matches.subcommand_name().filter(|name| *name != DEFAULT_COMMAND)?;
    let is_given = |argument: &&Arg| matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine);
    let mut local =
        command.get_arguments().filter(|argument| !argument.is_global_set() && argument.get_long().is_some());
    local.find(is_given).and_then(Arg::get_long).map(str::to_owned)
}

/// Prints `--help` and `--version`, or a usage error in one line, and returns the exit code.
fn usage_error(program: &str, error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // Standard output may be closed.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    // clap's message is the first paragraph; usage and hints follow.
    let paragraph = text.split("\n\n").next().unwrap_or(&text);
    let sentence = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    eprintln!("{program}: {}; see {program} --help", sentence.trim_start_matches("error: "));
    ExitCode::from(EXIT_NOT_STARTED)
}

/// Prints the address, the only line on standard output, which scripts wait for.
pub fn announce(url: &str) {
    let mut out = std::io::stdout().lock();
    // The service runs even if standard output is closed.
    let _ = writeln!(out, "listening on {url}").and_then(|()| out.flush());
}

#[cfg(test)]
#[expect(clippy::panic, clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::parse;
    use clap::{Args, Parser, Subcommand};

    #[derive(Debug, Parser)]
    struct Flags {
        #[arg(long, global = true)]
        data: Option<String>,
        #[command(flatten)]
        serve: ServeFlags,
        #[command(subcommand)]
        command: Option<Command>,
    }

    #[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
    struct ServeFlags {
        #[arg(long)]
        listen: Option<String>,
        #[arg(long)]
        near: Option<u32>,
    }

    #[derive(Debug, Subcommand)]
    enum Command {
        Serve(ServeFlags),
        Import { file: String },
    }

    fn parsed(line: &str) -> Result<Flags, String> {
        let words = std::iter::once("links").chain(line.split_whitespace()).map(Into::into).collect();
        parse(words).map_err(|error| error.to_string())
    }

    /// Regression: `links --listen ADDR serve` ignored the option and listened on the default address.
    // shows: hazard S34
    #[test]
    fn options_before_serve_are_those_of_serve() {
        for line in [
            "--listen a --data d --near 5 serve",
            "--near 5 serve --data d --listen a",
            "serve --listen a --near 5 --data d",
        ] {
            let flags = parsed(line).unwrap();
            let Some(Command::Serve(serve)) = flags.command else { panic!("{line}") };
            assert_eq!(
                (serve, flags.data.as_deref()),
                (ServeFlags { listen: Some("a".into()), near: Some(5) }, Some("d"))
            );
        }
        let flags = parsed("--data serve import serve").unwrap();
        assert_eq!(flags.data.as_deref(), Some("serve"));
        assert!(matches!(flags.command, Some(Command::Import { file }) if file == "serve"));
        assert!(parsed("--listen serve").unwrap().command.is_none());
    }

    // shows: hazard S34
    #[test]
    fn option_of_another_command_is_refused() {
        let refused = parsed("--near 5 import file").unwrap_err();
        assert!(refused.contains("the command 'import' has no option '--near'"), "{refused}");
        assert!(parsed("--data d import file").is_ok());
    }
}
