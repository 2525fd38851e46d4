//! The configuration file of `evenkeel serve`: TOML with a key for each flag. A flag or an environment variable overrides its key.

use super::Arguments;
use super::serving::check_shown;
use anyhow::{Context, Result, anyhow};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use url::Url;

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    redis: Option<String>,
    database: Option<String>,
    listen: Option<String>,
    tokens: Option<PathBuf>,
    public_url: Option<String>,
    otlp: Option<String>,
    audit_log: Option<PathBuf>,
    /// The fields that viewers may see, by topic.
    show: BTreeMap<String, Vec<String>>,
    /// The fields that viewers may see, by stream.
    show_stream: BTreeMap<String, Vec<String>>,
}

impl Arguments {
    /// The settings of the flags, the environment, and the file that they name.
    pub(super) fn configured(mut self) -> Result<Self> {
        let Some(path) = self.config.take() else { return Ok(self) };
        let file: File = web::settings::read(&path)?;
        let public_url = file.public_url.as_deref().map(|url| public_url(url, &path)).transpose()?;
        self.redis = self.redis.or(file.redis);
        self.database = self.database.or(file.database);
        let serving = &mut self.serving;
        serving.listen = serving.listen.take().or(file.listen);
        serving.tokens = serving.tokens.take().or(file.tokens);
        serving.public_url = serving.public_url.take().or(public_url);
        serving.otlp = serving.otlp.take().or(file.otlp);
        serving.audit_log = serving.audit_log.take().or(file.audit_log);
        for (flags, table) in [(&mut serving.show, file.show), (&mut serving.show_stream, file.show_stream)] {
            let fields =
                |(name, fields): (String, Vec<String>)| fields.into_iter().map(move |field| (name.clone(), field));
            let shown: Vec<(String, String)> = table.into_iter().flat_map(fields).collect();
            for (name, field) in &shown {
                check_shown(name, field).map_err(|why| anyhow!("{}: {why}", path.display()))?;
            }
            if flags.is_empty() {
                *flags = shown;
            }
        }
        Ok(self)
    }
}

fn public_url(text: &str, path: &Path) -> Result<Url> {
    let checked = web::settings::check_public_url(text).and_then(|()| Ok(text.parse()?));
    checked.with_context(|| path.display().to_string())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;
    use clap::{Arg, Args, Command, FromArgMatches};
    use std::collections::BTreeSet;

    /// The settings of a command line, with this file.
    fn configured(flags: &[&str], file: &str) -> Result<Arguments> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("console.toml");
        std::fs::write(&path, file).unwrap();
        let words = ["serve", "--config", path.to_str().unwrap()];
        let matches = command().try_get_matches_from(words.iter().chain(flags))?;
        Arguments::from_arg_matches(&matches)?.configured()
    }

    fn command() -> Command {
        Arguments::augment_args(Command::new("serve"))
    }

    const FILE: &str = "redis = 'redis://one'\nlisten = '127.0.0.1:1'\ntokens = '/tokens'\npublic_url = 'https://ops.example'\naudit_log = '/log'\notlp = 'http://collector'\ndatabase = 'sqlite:db'\n[show]\nmail = ['user.id', 'kind']\n[show_stream]\norders = ['state']\n";

    #[test]
    fn settings_come_from_the_file_unless_a_flag_overrides_them() {
        let read = configured(&[], FILE).unwrap();
        assert_eq!((read.redis.as_deref(), read.database.as_deref()), (Some("redis://one"), Some("sqlite:db")));
        assert_eq!(read.serving.listen.as_deref(), Some("127.0.0.1:1"));
        assert_eq!(read.serving.public_url.as_ref().map(Url::as_str), Some("https://ops.example/"));
        assert_eq!(read.serving.tokens.as_deref(), Some(Path::new("/tokens")));
        assert_eq!(read.serving.audit_log.as_deref(), Some(Path::new("/log")));
        assert_eq!(read.serving.otlp.as_deref(), Some("http://collector"));
        let shown = ["user.id", "kind"].map(|field| ("mail".to_owned(), field.to_owned()));
        assert_eq!(read.serving.show, shown);
        assert_eq!(read.serving.show_stream, [("orders".to_owned(), "state".to_owned())]);
        let flags = ["--redis", "redis://two", "--listen", "127.0.0.1:2", "--show", "mail=kind"];
        let read = configured(&flags, FILE).unwrap();
        assert_eq!((read.redis.as_deref(), read.serving.listen.as_deref()), (Some("redis://two"), Some("127.0.0.1:2")));
        assert_eq!(read.serving.show, [("mail".to_owned(), "kind".to_owned())]);
        assert_eq!(read.database.as_deref(), Some("sqlite:db"), "not overridden");
    }

    // shows: hazard T6
    #[test]
    fn unknown_and_invalid_keys_are_refused_with_their_line() {
        let error = |file: &str| format!("{:#}", configured(&[], file).err().unwrap());
        let unknown = error("redis = 'redis://one'\nlisten_on = '127.0.0.1:1'\n");
        assert!(unknown.contains("console.toml, line 2: unknown field `listen_on`"), "{unknown}");
        let number = error("listen = 8420\n");
        assert!(number.contains("line 1") && number.contains("expected a string"), "{number}");
        let url = error("public_url = 'ops.example'\n");
        assert!(url.contains("console.toml: the setting \"public_url\" is wrong"), "{url}");
        for (table, why) in [
            ("show", "the path \"\" of \"mail\" has an empty field"),
            ("show_stream", "the path \"a..b\" of \"mail\" has an empty field"),
        ] {
            let path = if table == "show" { "" } else { "a..b" };
            let shown = error(&format!("[{table}]\nmail = ['user', '{path}']\n"));
            assert!(shown.contains("console.toml: ") && shown.contains(why), "{shown}");
        }
        let missing = command().try_get_matches_from(["serve", "--config", "/no/such/file"]).unwrap();
        let missing = Arguments::from_arg_matches(&missing).unwrap().configured().err().unwrap();
        assert!(missing.to_string().contains("cannot read the settings file /no/such/file"), "{missing}");
    }

    /// Regression: an empty path showed viewers whole bodies.
    // shows: hazard T6
    #[test]
    fn field_without_a_name_or_path_is_refused() {
        for flag in ["--show", "--show-stream"] {
            for wrong in ["mail", "mail=", "=user", "=", "mail=.", "mail=a..b", "mail=.a", "mail=a."] {
                assert!(command().try_get_matches_from(["serve", flag, wrong]).is_err(), "{flag} {wrong}");
            }
            assert!(command().try_get_matches_from(["serve", flag, "mail=user.id"]).is_ok(), "{flag}");
        }
    }

    /// `--routes` is a question, and no setting.
    #[test]
    fn every_flag_has_a_key_and_a_row_in_config_md() {
        let settings: Vec<[String; 3]> = command().get_arguments().filter_map(setting).collect();
        // The message for an unknown key lists the known ones.
        let message = toml::from_str::<File>("zzz = 1").unwrap_err().message().to_owned();
        let keys: BTreeSet<&str> = message.split('`').skip(3).step_by(2).collect();
        let of_flags = settings.iter().map(|[key, ..]| key.as_str()).filter(|key| !key.is_empty());
        assert_eq!(keys, of_flags.collect(), "{message}");
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
        let documented = web::documents::documented_settings(&std::fs::read_to_string(page).unwrap(), "evenkeel serve");
        assert_eq!(documented.into_iter().collect::<BTreeSet<_>>(), settings.into_iter().collect());
    }

    /// Key, environment variable and flag. The file cannot name itself.
    fn setting(argument: &Arg) -> Option<[String; 3]> {
        let flag = argument.get_long().filter(|flag| *flag != "routes")?;
        let key = if flag == "config" { String::new() } else { flag.replace('-', "_") };
        let environment = argument.get_env().map(|name| name.to_string_lossy().into_owned());
        Some([key, environment.unwrap_or_default(), format!("--{flag}")])
    }
}
