//! Parts of an application's OpenAPI document, and checks for tests that compare its documentation with the program.

use clap::Command;
use serde_json::Value;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema, Type};

/// The schema of a text of `min` to `max` bytes. JSON Schema counts characters, so the text is ASCII, or has no more characters than always fit.
#[must_use]
pub fn text_of_bytes(min: usize, max: usize, description: &str) -> RefOr<Schema> {
    let text = |pattern: &str, max: usize| {
        let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
        text.min_length(Some(min)).max_length(Some(max))
    };
    let (ascii, any) = (text("^[ -~]*$", max), text("^[^\\x00]*$", max / 4));
    AnyOfBuilder::new().item(ascii).item(any).description(Some(description)).into()
}

/// The settings of a command as the documentation lists them: key in the settings file, environment variable, flag; sorted.
#[must_use]
pub fn settings(command: &Command) -> Vec<[String; 3]> {
    let mut rows: Vec<_> = command
        .get_arguments()
        .filter_map(|argument| {
            let environment = argument.get_env()?.to_string_lossy().into_owned();
            let flag = argument.get_long()?;
            // The settings file cannot name itself.
            let key = if flag == "config" { String::new() } else { flag.replace('-', "_") };
            Some([key, environment, format!("--{flag}")])
        })
        .collect();
    rows.sort_unstable();
    rows
}

/// The settings that a page documents for a program, from rows `| program | key | environment variable | flag | ..`; sorted.
#[must_use]
pub fn documented_settings(page: &str, program: &str) -> Vec<[String; 3]> {
    let mut rows: Vec<_> = page
        .lines()
        .filter_map(|line| {
            let mut cells = line.split('|').skip(1).map(|cell| cell.trim().trim_matches('`').to_owned());
            (cells.next()? == program).then_some(())?;
            Some([cells.next()?, cells.next()?, cells.next()?])
        })
        .collect();
    rows.sort_unstable();
    rows
}

/// The references of an OpenAPI document to schemas that do not exist.
#[must_use]
pub fn dangling_references(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(document, document, &mut found);
    found
}

fn collect(document: &Value, part: &Value, found: &mut Vec<String>) {
    if let Some(reference) = part["$ref"].as_str()
        && reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer)).is_none()
    {
        found.push(reference.to_owned());
    }
    match part {
        Value::Array(parts) => parts.iter().for_each(|part| collect(document, part, found)),
        Value::Object(parts) => parts.values().for_each(|part| collect(document, part, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{dangling_references, documented_settings, settings};
    use clap::{Arg, Command};
    use serde_json::json;

    #[test]
    fn settings_are_read_from_commands_and_pages() {
        let flag = |name: &'static str| Arg::new(name).long(name);
        let command = Command::new("shop")
            .arg(flag("public-url").env("SHOP_PUBLIC_URL"))
            .arg(flag("config").env("SHOP_CONFIG"))
            .arg(flag("json"));
        let page = "| program | key |\n| shop | `public_url` | `SHOP_PUBLIC_URL` | `--public-url` | where it is |\n\
                    | shop | | `SHOP_CONFIG` | `--config` | a file |\n| workshop | `a` | `A` | `--a` | another |\n";
        let expected = [["", "SHOP_CONFIG", "--config"], ["public_url", "SHOP_PUBLIC_URL", "--public-url"]];
        assert_eq!(settings(&command), expected.map(|row| row.map(str::to_owned)));
        assert_eq!(documented_settings(page, "shop"), settings(&command));
    }

    #[test]
    fn dangling_reference_is_found() {
        let document = json!({
            "paths": { "/a": [{ "$ref": "#/shapes/there" }, { "$ref": "#/shapes/gone" }] },
            "shapes": { "there": {} },
        });
        assert_eq!(dangling_references(&document), ["#/shapes/gone"]);
    }
}
