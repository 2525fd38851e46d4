//! Settings reach every command, from every source.

use crate::core::program::Workdir;
use clap::CommandFactory;
use shortlink::config::Flags;

/// One good target, and three that the rules of a service refuse.
const ROWS: &str =
    "target\nhttps://example.com/\nhttps://s.example.com/loop\nhttp://10.0.0.1/\nhttp://localhost:8090/loop\n";

/// Regression: an import ignored `SHORTLINK_PUBLIC_URL` and `SHORTLINK_REFUSE_PRIVATE`, and imported what the service refuses.
// shows: hazard S24
#[test]
fn import_keeps_the_rules_of_the_service() {
    let file = "public_url = \"https://s.example.com\"\nrefuse_private = true\nlisten = \"127.0.0.1:8090\"\n";
    let environment = [
        ("SHORTLINK_PUBLIC_URL", "https://s.example.com"),
        ("SHORTLINK_REFUSE_PRIVATE", "1"),
        ("SHORTLINK_LISTEN", "127.0.0.1:8090"),
    ];
    let flags = ["--public-url", "https://s.example.com", "--refuse-private"];
    let listen = &environment[2..];
    let words = ["import", "in.tsv"];
    for (environment, arguments) in [
        (&environment[..], words.to_vec()),
        (&[], [&["--config", "shortlink.toml"][..], &words[..]].concat()),
        (listen, [&flags[..], &words[..]].concat()),
        (listen, [&words[..], &flags[..]].concat()),
    ] {
        let dir = Workdir::new();
        dir.write("in.tsv", ROWS);
        dir.write("shortlink.toml", file);
        let ended = dir.run_in(environment, &arguments);
        let expected = "4 links: 1 new, 0 already present, 3 rejected, copied to in.tsv.rejected\n";
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), expected), "{arguments:?}: {}", ended.err);
    }
}

/// Regression: `SHORTLINK_NEAR=` ended the start with an error, and `SHORTLINK_LISTEN=` was taken as an address.
// shows: hazard S34
#[test]
fn empty_variables_count_as_unset() {
    let dir = Workdir::new();
    dir.write("in.tsv", "target\nhttp://10.0.0.1/\n");
    let command = Flags::command();
    let names: Vec<_> = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str()).collect();
    assert!(names.len() > 10, "{names:?}");
    let empty: Vec<_> = names.into_iter().map(|name| (name, "")).collect();
    let ended = dir.run_in(&empty, &["import", "in.tsv"]);
    assert_eq!(ended.out, "1 link: 1 new, 0 already present, 0 rejected\n", "{}", ended.err);
}

// shows: hazard S24, hazard S34
#[test]
fn flag_overrides_variable_and_variable_overrides_file() {
    let dir = Workdir::new();
    dir.write("in.tsv", "target\nhttp://10.0.0.1/\n");
    dir.write("strict.toml", "refuse_private = true\n");
    let import = |value: &str, more: &[&str]| {
        let arguments = [&["import", "in.tsv", "--config", "strict.toml"][..], more].concat();
        dir.run_in(&[("SHORTLINK_REFUSE_PRIVATE", value)], &arguments)
    };
    for refusing in ["", "1", "true", "yes", "on"] {
        assert_eq!(import(refusing, &[]).code, Some(1), "{refusing:?}");
    }
    assert_eq!(import("off", &["--refuse-private"]).code, Some(1));
    assert_eq!(import("1", &["--refuse-private=false"]).code, Some(0));
    assert_eq!(import("0", &[]).code, Some(0));
    let wrong = import("perhaps", &[]);
    assert!(wrong.code == Some(2) && wrong.err.contains("invalid value 'perhaps'"), "{}", wrong.err);
}

/// Each setting with a wrong value, as it is written in the settings file, and what its error says.
const WRONG: [(&str, &str, &str, &str); 12] = [
    ("data", "file/below", "\"file/below\"", "cannot create the data folder file/below"),
    ("database", "oracle:x", "\"oracle:x\"", "the setting \"database\" is wrong"),
    ("redis", "ftp://x", "\"ftp://x\"", "the setting \"redis\" is wrong"),
    ("consistency", "perhaps", "\"perhaps\"", "perhaps"),
    ("public_url", "x", "\"x\"", "the setting \"public_url\" is wrong"),
    ("refuse_private", "perhaps", "\"perhaps\"", "perhaps"),
    ("listen", "nonsense", "\"nonsense\"", "cannot listen on nonsense"),
    ("otlp", "nonsense", "\"nonsense\"", "otlp"),
    ("near", "100000001", "100000001", "the setting \"near\" is wrong"),
    ("write_mode", "perhaps", "\"perhaps\"", "perhaps"),
    ("spool_bytes_max", "1", "1", "the setting \"spool_bytes_max\" is wrong"),
    ("clicks", "perhaps", "\"perhaps\"", "perhaps"),
];

/// Regression: some settings did not reach the service from before `serve`. A setting that is added is added here, or this fails.
// shows: hazard S34
#[test]
fn every_setting_reaches_the_service_from_every_source() {
    let command = Flags::command();
    let variables = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str());
    let mut names: Vec<String> = variables.map(|name| name.trim_start_matches("SHORTLINK_").to_lowercase()).collect();
    names.retain(|name| name != "config");
    let mut listed = WRONG.map(|(name, ..)| name);
    names.sort();
    listed.sort();
    assert_eq!(names, listed);
    let dir = Workdir::new();
    dir.write("file", "");
    for (name, value, in_file, expected) in WRONG {
        dir.write("wrong.toml", format!("{name} = {in_file}\n"));
        let flag = format!("--{}={value}", name.replace('_', "-"));
        let variable = format!("SHORTLINK_{}", name.to_uppercase());
        let (flag, set) = ([flag.as_str()], [(variable.as_str(), value)]);
        let file = ["--config", "wrong.toml"];
        for (set, words) in [(&[][..], &flag[..]), (&set, &[]), (&[], &file)] {
            // Another port than that of a service on this machine.
            let listen = [("SHORTLINK_LISTEN", "127.0.0.1:0")];
            let environment = [if name == "listen" { &[][..] } else { &listen }, set].concat();
            for words in [words.to_vec(), [words, &["serve"]].concat(), [&["serve"][..], words].concat()] {
                let ended = dir.run_in(&environment, &words);
                let is_told = ended.err.contains(expected) && ended.err.lines().count() == 1;
                assert!(ended.code == Some(2) && is_told, "{environment:?} {words:?}: {ended:?}");
            }
        }
    }
    assert!(dir.refuse(&["--config", "gone.toml", "serve"]).contains("cannot read the settings file gone.toml"));
}
