//! Requests with texts that databases treat differently, or do not store, in every place of an API that takes a text.
//!
//! The places come from the OpenAPI document of a service: parameters in queries, paths and headers, and fields of bodies. Forms are named by
//! the caller. A test sends each request to the service on each database and compares the answers.

use serde_json::{Map, Value};
use std::fmt::{self, Write};

/// What stands for the text in a body until it is replaced, because some of the texts are no [`String`].
const PLACE: &str = "\u{e000}text\u{e000}";

/// A text, in each form in which requests have it.
struct Text {
    /// In paths, queries and forms.
    encoded: String,
    /// As JSON, with quotes.
    json: Vec<u8>,
    /// As the value of a header, unless no header may have it.
    header: Option<String>,
}

/// A request with one of the texts.
#[derive(Clone, PartialEq, Eq)]
pub struct TextRequest {
    /// Method, in capitals.
    pub method: String,
    /// Path and query. It has names in braces that are neither the place of the text nor in `segments`: replace them.
    pub path: String,
    /// `Content-Type` and others.
    pub headers: Vec<(String, String)>,
    /// Empty for none; not always UTF-8.
    pub body: Vec<u8>,
}

/// NUL, wildcards, quotes, letters that a collation takes for others, characters of four bytes, controls, more than a pattern or an index may
/// have; and bytes that are not UTF-8.
fn texts() -> Vec<Text> {
    let long = "x".repeat(50_000);
    let valid = [
        "\0",
        "a\0b",
        "%",
        "_",
        "\\",
        "'",
        "\"; --",
        "\u{fc}",
        "u",
        "U",
        "u\u{308}",
        "\u{df}",
        "\u{1f600}",
        "\u{10ffff}",
        "\u{202e}",
        "\r\n",
        " ",
        "",
        long.as_str(),
    ];
    let json = |text: &str| Value::from(text).to_string().into_bytes();
    let of_text = |text: &str| Text {
        encoded: encoded(text.as_bytes()),
        json: json(text),
        header: Some(text.to_owned()).filter(|text| !text.contains(char::is_control)),
    };
    let invalid = [
        Text { encoded: encoded(b"\xff"), json: b"\"\xff\"".to_vec(), header: None },
        // Half of a pair, which JSON can name and UTF-8 cannot.
        Text { encoded: encoded(b"\xed\xa0\x80"), json: br#""\ud800""#.to_vec(), header: None },
    ];
    valid.into_iter().map(of_text).chain(invalid).collect()
}

fn encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => text.push(char::from(*byte)),
            // Writing to a text does not fail.
            byte => drop(write!(text, "%{byte:02X}")),
        }
    }
    text
}

/// The requests with each text in each place of this document. In paths, `{name}` is replaced by the text, or else by its value in `segments`; a
/// body has the fields of its schema that have a value in `fields`.
#[must_use]
pub fn of_document(document: &Value, segments: &Value, fields: &Value) -> Vec<TextRequest> {
    let mut requests = Vec::new();
    for (path, method, operation) in operations(document) {
        let schema = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str();
        let bodies = schema.map(|schema| body(document, schema, fields));
        let request = |path: String, body: Vec<u8>| TextRequest {
            method: method.to_uppercase(),
            path,
            headers: schema.map(|_| ("content-type".to_owned(), "application/json".to_owned())).into_iter().collect(),
            body,
        };
        let (address, whole) =
            (filled(path, segments), bodies.as_ref().map_or_else(Vec::new, |body| bytes(&body.value)));
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap_or_default();
            for text in texts() {
                let request = match (parameter["in"].as_str(), text.header) {
                    (Some("query"), _) => request(format!("{address}?{name}={}", text.encoded), whole.clone()),
                    (Some("path"), _) => {
                        let path = path.replace(&format!("{{{name}}}"), &text.encoded);
                        request(filled(&path, segments), whole.clone())
                    }
                    (Some("header"), Some(header)) => {
                        let mut request = request(address.clone(), whole.clone());
                        request.headers.push((name.to_owned(), header));
                        request
                    }
                    _ => continue,
                };
                requests.push(request);
            }
        }
        for with_place in bodies.into_iter().flat_map(|body| body.with_place) {
            requests
                .extend(texts().into_iter().map(|text| request(address.clone(), replaced(&with_place, &text.json))));
        }
    }
    requests
}

/// The requests with each text in the query parameter of this name, or in the last segment of the path if that is `{name}`.
#[must_use]
pub fn of_page(path: &str, name: &str) -> Vec<TextRequest> {
    let (place, is_segment) = (format!("{{{name}}}"), path.contains('{'));
    let request = |text: Text| TextRequest {
        method: "GET".to_owned(),
        path: if is_segment { path.replace(&place, &text.encoded) } else { format!("{path}?{name}={}", text.encoded) },
        headers: vec![("accept".to_owned(), "text/html".to_owned())],
        body: Vec::new(),
    };
    texts().into_iter().map(request).collect()
}

/// The requests with each text in each field of a form, the others of which have these values.
#[must_use]
pub fn of_form(path: &str, fields: &[(&str, &str)]) -> Vec<TextRequest> {
    let mut requests = Vec::new();
    for (place, _) in fields {
        for text in texts() {
            let pair = |(name, value): &(&str, &str)| {
                let value = if name == place { text.encoded.clone() } else { encoded(value.as_bytes()) };
                format!("{name}={value}")
            };
            let headers = [
                ("content-type", "application/x-www-form-urlencoded"),
                ("accept", "text/html"),
                ("sec-fetch-site", "same-origin"),
            ];
            requests.push(TextRequest {
                method: "POST".to_owned(),
                path: path.to_owned(),
                headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
                body: fields.iter().map(pair).collect::<Vec<_>>().join("&").into_bytes(),
            });
        }
    }
    requests
}

/// Paths, methods and what the document says of each.
fn operations(document: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        methods.as_object().into_iter().flatten().map(move |(method, operation)| (path, method, operation))
    })
}

/// A body of a schema, and copies of it with [`PLACE`] in one of its fields each.
struct Body {
    value: Value,
    with_place: Vec<Value>,
}

/// A field that is a list of objects has one object, and the places are its fields.
fn body(document: &Value, schema: &str, values: &Value) -> Body {
    let properties = document.pointer(schema.trim_start_matches('#')).map(|schema| &schema["properties"]);
    let mut value = Map::new();
    for (name, field) in properties.and_then(Value::as_object).into_iter().flatten() {
        if let Some(row) = field["items"]["$ref"].as_str() {
            let row = body(document, row, values);
            let listed = |row: Value| Value::Object(Map::from_iter([(name.clone(), Value::Array(vec![row]))]));
            return Body { value: listed(row.value), with_place: row.with_place.into_iter().map(listed).collect() };
        }
        if let Some(known) = values.get(name) {
            value.insert(name.clone(), known.clone());
        }
    }
    let fields = properties.and_then(Value::as_object).into_iter().flatten().filter(|(_, field)| is_text(field));
    let with_place = fields.map(|(name, _)| {
        let mut value = value.clone();
        value.insert(name.clone(), Value::from(PLACE));
        Value::Object(value)
    });
    Body { with_place: with_place.collect(), value: Value::Object(value) }
}

fn is_text(field: &Value) -> bool {
    field["type"] == "string" || field["type"].as_array().is_some_and(|types| types.contains(&Value::from("string")))
}

fn filled(path: &str, segments: &Value) -> String {
    segments.as_object().into_iter().flatten().fold(path.to_owned(), |path, (name, value)| {
        path.replace(&format!("{{{name}}}"), value.as_str().unwrap_or_default())
    })
}

fn bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// The body with this JSON in place of [`PLACE`].
fn replaced(body: &Value, json: &[u8]) -> Vec<u8> {
    let (text, place) = (body.to_string(), Value::from(PLACE).to_string());
    let (before, after) = text.split_once(&place).unwrap_or((&text, ""));
    [before.as_bytes(), json, after.as_bytes()].concat()
}

/// At most 300 characters: some texts are long.
impl fmt::Debug for TextRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = String::from_utf8_lossy(&self.body);
        let text = format!("{} {} {:?} {body:?}", self.method, self.path, self.headers);
        f.write_str(&text.chars().take(300).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::{of_document, of_form, of_page, texts};
    use serde_json::json;

    #[test]
    fn every_place_of_a_document_has_each_text() {
        let text = json!({ "type": "string" });
        let document = json!({
            "paths": { "/goods/{id}": { "post": {
                "parameters": [
                    { "name": "id", "in": "path" },
                    { "name": "q", "in": "query" },
                    { "name": "key", "in": "header" },
                ],
                "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/New" } } } },
            } } },
            "components": { "schemas": {
                "New": { "properties": { "rows": { "items": { "$ref": "#/components/schemas/Row" } } } },
                "Row": { "properties": { "name": text, "note": { "type": ["string", "null"] }, "count": { "type": "integer" } } },
            } },
        });
        let requests = of_document(&document, &json!({ "id": "7" }), &json!({ "name": "tea", "count": 2 }));
        let count = texts().len();
        let headers = texts().iter().filter(|text| text.header.is_some()).count();
        assert_eq!(requests.len(), 4 * count + headers);
        let is_sent = |path: &str, body: &str| {
            requests.iter().any(|request| request.path == path && request.body == body.as_bytes())
        };
        assert!(is_sent("/goods/%00", r#"{"rows":[{"count":2,"name":"tea"}]}"#), "{requests:?}");
        assert!(is_sent("/goods/7?q=%C3%BC", r#"{"rows":[{"count":2,"name":"tea"}]}"#), "{requests:?}");
        assert!(is_sent("/goods/7", r#"{"rows":[{"count":2,"name":"\ud800"}]}"#), "{requests:?}");
        assert!(is_sent("/goods/7", "{\"rows\":[{\"count\":2,\"name\":\"tea\",\"note\":\"\u{fc}\"}]}"), "{requests:?}");
    }

    #[test]
    fn pages_and_forms_have_each_text() {
        let paths: Vec<String> = of_page("/links/{code}", "code").into_iter().map(|request| request.path).collect();
        assert!(paths.contains(&"/links/%FF".to_owned()) && paths.len() == texts().len(), "{paths:?}");
        assert!(of_page("/", "q").iter().any(|request| request.path == "/?q=%ED%A0%80"));
        let form = of_form("/goods", &[("name", "a b"), ("note", "")]);
        assert_eq!(form.len(), 2 * texts().len());
        assert!(form.iter().any(|request| request.body == b"name=a%20b&note=%27"), "{form:?}");
    }
}
