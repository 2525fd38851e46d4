//! `/docs`: the OpenAPI document as a page, rendered without scripts. [`problems`] is the part that the console shows, too.

use crate::Kind;
use maud::{Markup, PreEscaped, html};
use serde_json::{Map, Value};

/// The body of the page. `example` is a first command line, `kinds` are the application's problem types.
#[must_use]
pub(super) fn body(document: &utoipa::openapi::OpenApi, example: &str, kinds: &[Kind]) -> Markup {
    let document = serde_json::to_value(document).unwrap_or_default();
    html! {
        section.card {
            h1 { "API" }
            p.lead { (text(&document["info"]["description"])) }
            p { "For programs: the " a href="/openapi.json" { "OpenAPI document" } "." }
            pre { code { (example) } }
        }
        @for tag in array(&document["tags"]) { (group(tag, &document)) }
        (schemas(&document["components"]["schemas"]))
        (problems(kinds))
    }
}

/// The operations with one tag.
fn group(tag: &Value, document: &Value) -> Markup {
    let name = tag["name"].as_str().unwrap_or_default();
    let tagged = |operation: &Value| array(&operation["tags"]).iter().any(|tag| tag == name);
    html! {
        section.card aria-labelledby=(name) {
            h2 id=(name) { (text(&tag["description"])) }
            @for (path, methods) in entries(&document["paths"]) {
                @for (method, operation) in entries(methods) {
                    @if tagged(operation) { (self::operation(path, method, operation)) }
                }
            }
        }
    }
}

fn operation(path: &str, method: &str, operation: &Value) -> Markup {
    html! {
        article.doc {
            h3 { span.method { (method.to_uppercase()) } code { (path) } span { (text(&operation["summary"])) } }
            p { (text(&operation["description"])) }
            table { tbody {
                @for parameter in array(&operation["parameters"]) {
                    tr {
                        td { code { (string(&parameter["name"])) } " (" (string(&parameter["in"])) ")" }
                        td { (text(&parameter["description"])) }
                    }
                }
                @for (_, content) in entries(&operation["requestBody"]["content"]) {
                    tr { td { "body" } td { (type_of(&content["schema"])) } }
                }
                @for (status, response) in entries(&operation["responses"]) {
                    tr {
                        td { code { (status) } }
                        td {
                            (text(&response["description"]))
                            @for (media, content) in entries(&response["content"]) { " — " (type_of(&content["schema"])) " as " code { (media) } }
                            @for (header, about) in entries(&response["headers"]) { br; code { (header) } ": " (text(&about["description"])) }
                        }
                    }
                }
            } }
        }
    }
}

fn schemas(schemas: &Value) -> Markup {
    html! {
        section.card aria-labelledby="schemas" {
            h2 id="schemas" { "Schemas" }
            @for (name, schema) in entries(schemas) {
                article.doc id={ "schema-" (name) } {
                    h3 { code { (name) } }
                    p { (text(&schema["description"])) }
                    (properties(schema))
                    @for variant in array(&schema["oneOf"]) { (properties(variant)) }
                }
            }
        }
    }
}

fn properties(schema: &Value) -> Markup {
    let required = |name: &str| array(&schema["required"]).iter().any(|field| field == name);
    html! {
        table { tbody {
            @for (name, property) in entries(&schema["properties"]) {
                tr {
                    td { code { (name) } @if required(name) { " *" } }
                    td { (type_of(property)) }
                    td { (text(&property["description"])) }
                }
            }
        } }
    }
}

/// The problem types, at the addresses that `type` refers to.
#[must_use]
pub fn problems(own: &[Kind]) -> Markup {
    let mut kinds: Vec<Kind> = Kind::COMMON.iter().chain(own).copied().collect();
    kinds.sort_by_key(|kind| kind.status);
    html! {
        section.card aria-labelledby="problems" {
            h2 id="problems" { "Problems" }
            table.doc {
                thead { tr { th scope="col" { "Type" } th scope="col" { "Status" } th scope="col" { "Meaning" } } }
                tbody { @for kind in &kinds {
                    tr.doc id=(kind.slug) {
                        td { code { "/docs#" (kind.slug) } }
                        td { (kind.status.as_u16()) }
                        td { strong { (kind.title) ". " } (marked(kind.advice)) }
                    }
                } }
            }
        }
    }
}

/// The type of a schema, in one line.
fn type_of(schema: &Value) -> Markup {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return html! { a href={ "#schema-" (name) } { code { (name) } } };
    }
    // The ways to state one limit have one type.
    if let Some(one) = array(&schema["anyOf"]).first() {
        return type_of(one);
    }
    let one_of = array(&schema["oneOf"]);
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        kind => string(kind).to_owned(),
    };
    html! {
        @if !one_of.is_empty() {
            @for (number, choice) in one_of.iter().enumerate() { @if number > 0 { " or " } (type_of(choice)) }
        } @else {
            (kind)
            @if kind == "array" { " of " (type_of(&schema["items"])) }
            @if let Some(format) = schema["format"].as_str() { " (" (format) ")" }
            @if let Some(value) = schema["const"].as_str() { " " code { (value) } }
            @for value in array(&schema["enum"]) { " " code { (string(value)) } }
        }
    }
}

fn text(value: &Value) -> Markup {
    marked(string(value))
}

/// Renders backquotes as code, the only Markdown in the descriptions.
fn marked(text: &str) -> Markup {
    let parts = text.split('`').enumerate();
    let html = parts.map(|(number, part)| {
        if number % 2 == 1 {
            html! { code { (part) } }
        } else {
            html! { (part) }
        }
    });
    PreEscaped(html.map(|markup| markup.0).collect())
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter).map(|(name, value)| (name.as_str(), value))
}
