//! Targets and codes of short links: what any client may send.

use super::Target;
use shortlink::codes::{CodeGenerator, Key};
use shortlink::domain::{ALIAS_CHARACTERS_MAX, Code, TARGET_BYTES_MAX, TargetRules};

pub(crate) const TARGET: Target = Target { name: "addresses", valid, feed };

fn feed(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let rules = TargetRules::new(&["https://s.example.com".to_owned(), "127.0.0.1:8080".to_owned()], true);
    if let Ok(target) = rules.check(&text, Some("links.example")) {
        assert_eq!(target.as_str(), text, "a target is kept byte for byte");
        assert!(
            text.len() <= TARGET_BYTES_MAX && text.starts_with(['h', 'H']) && !text.contains(char::is_whitespace),
            "{text}"
        );
    }
    // No host name that a client sends may cause a panic.
    let _ = rules.check("https://example.org/", Some(&text));
    if let Ok(code) = Code::parse(&text) {
        assert_eq!(code.as_str(), text);
        assert!((1..=ALIAS_CHARACTERS_MAX).contains(&text.len()) && text.is_ascii(), "{text}");
        numbered(&code);
    }
}

/// A code that names a number is the code of that number, unless it is a reserved word: those are passed over.
fn numbered(code: &Code) {
    let codes = CodeGenerator::new(Key::from([7; 32]));
    if let (Some(number), Ok(_)) = (codes.number(code), Code::alias(code.as_str())) {
        assert_eq!(codes.code(number).as_ref(), Some(code), "number {number}");
    }
}

fn valid() -> Vec<Vec<u8>> {
    let texts = [
        "https://example.org/wiki/K%C3%B6ln?a=1&b=%20#part",
        "http://user@127.0.0.1:8080/",
        "HTTP://s.example.com:443/abc",
        "https://[2001:db8::1]/x",
        "https://xn--bcher-kva.example/",
        "aB3-_x9",
        "0000000",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
