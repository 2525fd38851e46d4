//! A Rust file as the rules need it: its code without comments and strings, its strings, its functions, its test parts.
//!
//! A small scanner is enough: no rule needs types, and every rule needs lines.

use std::ops::RangeInclusive;

/// One scanned file. Lines count from 1.
pub(crate) struct Source {
    /// The code, line by line, with comments left out and strings emptied.
    code: Vec<String>,
    strings: Vec<(usize, String)>,
    functions: Vec<Function>,
    tests: Vec<RangeInclusive<usize>>,
}

/// One function with a body.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) lines: RangeInclusive<usize>,
}

impl Source {
    pub(crate) fn of(text: &str) -> Self {
        let mut scanner = Scanner::default();
        scanner.scan(text);
        let code: Vec<String> = scanner.code.split('\n').map(str::to_owned).collect();
        let functions = functions(&code);
        let tests = test_parts(&code);
        Self { code, strings: scanner.strings, functions, tests }
    }

    /// Lines of code without comments and with empty strings.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.iter().enumerate().map(|(index, line)| (index + 1, line.as_str()))
    }

    /// String literals and the line each starts on.
    pub(crate) fn strings(&self) -> impl Iterator<Item = (usize, &str)> {
        self.strings.iter().map(|(line, text)| (*line, text.as_str()))
    }

    pub(crate) fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Whether the line belongs to something under `#[cfg(test)]`.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.tests.iter().any(|part| part.contains(&line))
    }
}

/// Splits text into code, comments and strings.
#[derive(Default)]
struct Scanner {
    code: String,
    strings: Vec<(usize, String)>,
    line: usize,
}

impl Scanner {
    fn scan(&mut self, text: &str) {
        self.line = 1;
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            rest = if rest.starts_with("//") {
                &rest[rest.find('\n').unwrap_or(rest.len())..]
            } else if rest.starts_with("/*") {
                self.block_comment(rest)
            } else if let Some(hashes) = raw_string(rest, &self.code) {
                self.raw(rest, hashes)
            } else if next == '"' {
                self.string(rest)
            } else if next == '\'' {
                self.quote(rest)
            } else {
                self.push(next);
                &rest[next.len_utf8()..]
            };
        }
    }

    fn push(&mut self, c: char) {
        self.line += usize::from(c == '\n');
        self.code.push(c);
    }

    /// Keeps the lines of what is left out.
    fn leave_out(&mut self, text: &str) {
        for _ in text.matches('\n') {
            self.push('\n');
        }
    }

    fn block_comment<'a>(&mut self, rest: &'a str) -> &'a str {
        let (mut depth, mut end) = (0, 0);
        while end < rest.len() {
            let here = &rest[end..];
            if here.starts_with("/*") {
                depth += 1;
                end += 2;
            } else if here.starts_with("*/") {
                depth -= 1;
                end += 2;
                if depth == 0 {
                    break;
                }
            } else {
                end += here.chars().next().map_or(1, char::len_utf8);
            }
        }
        self.leave_out(&rest[..end]);
        &rest[end..]
    }

    fn literal<'a>(&mut self, whole: &'a str, start: usize, end: usize, after: usize) -> &'a str {
        self.strings.push((self.line, whole[start..end].to_owned()));
        self.code.push_str("\"\"");
        self.leave_out(&whole[..after]);
        &whole[after..]
    }

    fn string<'a>(&mut self, rest: &'a str) -> &'a str {
        let mut escaped = false;
        let close = rest.char_indices().skip(1).find(|(_, c)| {
            let closes = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            closes
        });
        let end = close.map_or(rest.len(), |(index, _)| index);
        self.literal(rest, 1, end, (end + 1).min(rest.len()))
    }

    fn raw<'a>(&mut self, rest: &'a str, hashes: usize) -> &'a str {
        let start = hashes + 2;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = rest[start..].find(&close).map_or(rest.len(), |index| start + index);
        self.literal(rest, start, end, (end + close.len()).min(rest.len()))
    }

    /// A character literal, or the tick of a lifetime.
    fn quote<'a>(&mut self, rest: &'a str) -> &'a str {
        let mut chars = rest.char_indices().skip(1);
        let literal = match chars.next() {
            Some((_, '\\')) => rest[3..].find('\'').map(|index| index + 4),
            Some(_) => chars.next().filter(|(_, c)| *c == '\'').map(|(index, _)| index + 1),
            None => None,
        };
        self.code.push_str(if literal.is_some() { "' '" } else { "'" });
        &rest[literal.unwrap_or(1)..]
    }
}

/// The number of hashes if a raw string begins here. `code` ends with what stands before.
fn raw_string(rest: &str, code: &str) -> Option<usize> {
    let after = rest.strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let before = code.chars().next_back().filter(|c| *c != 'b' && *c != 'c');
    (after[hashes..].starts_with('"') && !before.is_some_and(is_word)).then_some(hashes)
}

fn functions(code: &[String]) -> Vec<Function> {
    let mut functions = Vec::new();
    for (index, line) in code.iter().enumerate() {
        for (at, _) in line.match_indices("fn ").filter(|(at, _)| !line[..*at].chars().next_back().is_some_and(is_word))
        {
            let name: String = line[at + 3..].chars().take_while(|c| is_word(*c)).collect();
            if name.is_empty() {
                continue;
            }
            if let Some(end) = block_end(code, index, at) {
                functions.push(Function { name, lines: index + 1..=end });
            }
        }
    }
    functions
}

/// Everything that stands under an attribute that names the configuration `test`.
fn test_parts(code: &[String]) -> Vec<RangeInclusive<usize>> {
    let starts = code.iter().enumerate().filter_map(|(index, line)| {
        let attribute = ["#[cfg(test)]", "#[cfg(all(test", "#[test]"].iter().find_map(|start| line.find(start))?;
        Some((index, attribute))
    });
    starts.filter_map(|(index, at)| Some(index + 1..=block_end(code, index, at)?)).collect()
}

/// The line on which the first `{` block after this place ends; none if a `;` comes first.
fn block_end(code: &[String], line: usize, column: usize) -> Option<usize> {
    let (mut braces, mut brackets) = (0_usize, 0_i32);
    for (index, text) in code.iter().enumerate().skip(line) {
        let from = if index == line { column } else { 0 };
        for c in text[from..].chars() {
            match c {
                '{' => braces += 1,
                '}' => {
                    braces = braces.saturating_sub(1);
                    if braces == 0 {
                        return Some(index + 1);
                    }
                }
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                ';' if braces == 0 && brackets == 0 => return None,
                _ => {}
            }
        }
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r####"//! A file with `sleep()` in a comment.
/* unwrap() /* nested */ */
pub fn first<'a>(text: &'a str, list: [u8; 3]) -> char {
    let quote = '"'; // "not a string"
    let raw = r#"raw "inner" unwrap()"#;
    let plain = "escaped \" { brace";
    '\''
}

trait Steps {
    fn declared(&self);
}

#[cfg(test)]
mod tests {
    fn second() {}
}
"####;

    #[test]
    fn comments_and_strings_are_not_code() {
        let source = Source::of(TEXT);
        let code: Vec<&str> = source.code().map(|(_, line)| line).collect();
        assert_eq!(code.len(), TEXT.split('\n').count());
        assert_eq!(code[0], "");
        assert_eq!(code[3], "    let quote = ' '; ");
        assert_eq!(code[5], "    let plain = \"\";");
        assert!(code.iter().all(|line| !line.contains("unwrap")));
    }

    #[test]
    fn strings_are_found_with_their_lines() {
        let source = Source::of(TEXT);
        let strings: Vec<_> = source.strings().collect();
        assert_eq!(strings, [(5, r#"raw "inner" unwrap()"#), (6, r#"escaped \" { brace"#)]);
    }

    #[test]
    fn functions_end_at_their_own_brace() {
        let source = Source::of(TEXT);
        let functions: Vec<_> = source.functions().iter().map(|f| (f.name.as_str(), f.lines.clone())).collect();
        assert_eq!(functions, [("first", 3..=8), ("second", 16..=16)]);
    }

    #[test]
    fn test_modules_are_known() {
        let source = Source::of(TEXT);
        assert!(!source.is_test(8));
        assert!(source.is_test(14) && source.is_test(17));
    }
}
