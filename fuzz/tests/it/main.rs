//! Tests of the fuzzer's command line.
//!
//! Because of them a test build also builds the fuzzer, with the features of the whole workspace: `cargo xtask test` runs it as it is.
#![expect(clippy::unwrap_used, reason = "a test says what broke by panicking")]

mod hermetic {
    use std::process::Command;

    fn fuzz(words: &[&str]) -> (bool, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_evenkeel-fuzz")).args(words).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }

    #[test]
    fn unknown_target_is_refused_with_the_names_of_all() {
        let (is_done, text) = fuzz(&["no-such-target"]);
        assert!(!is_done && text.contains("there is no such target; there are "), "{text}");
    }

    #[test]
    fn case_is_repeated_by_its_number() {
        let (_, names) = fuzz(&["no-such-target"]);
        let first = names.split("there are ").nth(1).unwrap().split(',').next().unwrap().to_owned();
        let again = [(); 2].map(|()| fuzz(&[&first, "--case", "42"]));
        assert!(again[0].0 && again[0].1.contains("case 42 passes"), "{}", again[0].1);
        assert_eq!(again[0], again[1]);
    }
}
