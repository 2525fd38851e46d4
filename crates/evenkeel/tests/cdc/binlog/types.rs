//! Values of all types, compared with what the server prints.

use super::*;
use crate::rig::in_time;

/// Types with values. The server's own texts of them are what is expected, unless another one is given.
const VALUES: [(&str, &[&str]); 41] = [
    ("TINYINT", &["-128", "127", "0"]),
    ("TINYINT UNSIGNED", &["255"]),
    ("SMALLINT", &["-32768", "32767"]),
    ("SMALLINT UNSIGNED", &["65535"]),
    ("MEDIUMINT", &["-8388608", "8388607"]),
    ("MEDIUMINT UNSIGNED", &["16777215"]),
    ("INT", &["-2147483648", "2147483647"]),
    ("INT UNSIGNED", &["4294967295"]),
    ("BIGINT", &["-9223372036854775808", "9223372036854775807"]),
    ("BIGINT UNSIGNED", &["18446744073709551615"]),
    ("BOOLEAN", &["TRUE"]),
    ("YEAR", &["2026", "1901", "0"]),
    ("DECIMAL(10,2)", &["-12345678.90", "0.01", "0", "-0.5", "99999999.99"]),
    ("DECIMAL(65,30)", &["-12345678901234567890123456789012345.123456789012345678901234567890", "1e-30"]),
    ("DECIMAL(18,9)", &["123456789.987654321", "-1"]),
    ("DECIMAL(5,0)", &["12345", "-7"]),
    ("DECIMAL(4,4)", &["0.1234", "-0.0001"]),
    ("DATE", &["'2026-11-28'", "'0001-01-01'", "'9999-12-31'"]),
    ("DATETIME", &["'2026-11-28 22:10:01'", "'1000-01-01 00:00:00'"]),
    ("DATETIME(3)", &["'2026-11-28 22:10:01.123'", "'2026-11-28 22:10:01.1'"]),
    ("DATETIME(6)", &["'9999-12-31 23:59:59.999999'"]),
    ("DATETIME(1)", &["'2026-11-28 22:10:01.9'"]),
    ("TIMESTAMP", &["'2026-11-28 22:10:01'", "'2038-01-19 03:14:07'", "'2024-02-29 00:00:00'"]),
    ("TIMESTAMP(6)", &["'1970-01-01 00:00:01.000001'", "'2000-02-29 23:59:59.5'", "'2000-03-01 00:00:00'"]),
    ("TIME", &["'-838:59:59'", "'00:00:00'", "'12:34:56'", "'-00:00:01'"]),
    ("TIME(2)", &["'-01:02:03.45'", "'-00:00:00.01'", "'838:59:59.99'"]),
    ("TIME(6)", &["'-00:00:01.000001'", "'11:22:33.444444'"]),
    ("CHAR(10)", &["'abc'", "''", "'a  '", "'äöü'"]),
    ("CHAR(255)", &["'long char'"]),
    ("VARCHAR(10)", &["'abc  '", "'😀'"]),
    ("VARCHAR(300)", &["REPEAT('ü', 300)"]),
    ("VARCHAR(20) CHARACTER SET latin1", &["'Zürich €'"]),
    ("VARCHAR(20) CHARACTER SET ascii", &["'plain'"]),
    ("VARCHAR(20) CHARACTER SET utf8mb3", &["'ñandú'"]),
    ("VARCHAR(20) COLLATE utf8mb4_bin", &["'Straße'"]),
    ("TEXT", &["'text'", "''"]),
    ("LONGTEXT", &["REPEAT('0123456789', 10000)"]),
    ("TEXT COMPRESSED", &["REPEAT('abc', 200)", "'x'", "''"]),
    ("ENUM('small','größer','a,b')", &["'größer'", "'small'", "'a,b'"]),
    ("SET('r','w','x')", &["'r,x'", "''", "'r,w,x'"]),
    ("JSON", &["'{\"a\": [1, null, \"ü\"]}'"]),
];

// shows: spec/cdc.md
#[tokio::test]
async fn values_are_what_the_server_prints() {
    in_time(async {
        let mut server = Server::start().await;
        let mut sql = "CREATE TABLE t (id INT PRIMARY KEY".to_owned();
        for (n, (kind, _)) in VALUES.iter().enumerate() {
            sql += &format!(", `c{n}` {kind} NULL");
        }
        server.run(&[&(sql + ")"), "SET NAMES utf8mb4", "SET time_zone = '+00:00'", "SET sql_mode = ''"]).await;
        let mut source = server.reading(&["t"]).await;
        let (mut id, mut expected) = (0, Vec::new());
        for (n, (kind, values)) in VALUES.iter().enumerate() {
            for value in values.iter().copied().chain(["NULL"]) {
                id += 1;
                server.run(&[&format!("INSERT INTO t (id, c{n}) VALUES ({id}, {value})")]).await;
                let printed = format!("SELECT CONVERT(CAST(c{n} AS CHAR) USING utf8mb4) FROM t WHERE id = {id}");
                let text: Option<String> =
                    sqlx::query_scalar(AssertSqlSafe(printed)).fetch_one(&mut server.conn).await.unwrap();
                expected.push((*kind, n, value.to_owned(), text));
            }
        }
        let found = server.changes(&mut source).await;
        assert_eq!(found.len(), expected.len());
        for (change, (kind, n, written, printed)) in found.iter().zip(&expected) {
            let value = change.after.as_ref().unwrap().get(&format!("c{n}")).unwrap();
            let text = match value {
                Value::Null => None,
                Value::Int(number) if !kind.contains("UNSIGNED") && *kind != "YEAR" => Some(number.to_string()),
                Value::Unsigned(0) if *kind == "YEAR" => Some("0000".to_owned()),
                Value::Unsigned(number) if kind.contains("UNSIGNED") || *kind == "YEAR" => Some(number.to_string()),
                Value::Text(text) => Some(text.clone()),
                other => panic!("{kind} {written}: {other:?}"),
            };
            assert_eq!(text, *printed, "{kind} {written}");
        }
    })
    .await;
}

#[tokio::test]
async fn bytes_bits_and_floats_are_their_values() {
    in_time(async {
        let mut server = Server::start().await;
        let columns = "id INT PRIMARY KEY, b1 BIT(1), b10 BIT(10), b64 BIT(64), f FLOAT, d DOUBLE, bin BINARY(4), \
             var VARBINARY(300), tiny TINYBLOB, long_ LONGBLOB, p POINT, g VARCHAR(5) CHARACTER SET greek";
        server.run(&[&format!("CREATE TABLE t ({columns})"), "SET sql_mode = ''"]).await;
        let mut source = server.reading(&["t"]).await;
        let values = "1, b'1', b'1000000001', 18446744073709551615, 0.5, -1.7976931348623157e308, 'a', X'00ff', '', \
             REPEAT(X'ff', 70000), PointFromText('POINT(1 2)'), _utf8mb4'α'";
        server.run(&[&format!("INSERT INTO t VALUES ({values})")]).await;
        let found = server.changes(&mut source).await;
        let row = found[0].after.as_ref().unwrap();
        assert_eq!(row.get("b1"), Some(&Value::Unsigned(1)));
        assert_eq!(row.get("b10"), Some(&Value::Unsigned(513)));
        assert_eq!(row.get("b64"), Some(&Value::Unsigned(u64::MAX)));
        assert_eq!(row.get("f"), Some(&Value::Float(0.5)));
        assert_eq!(row.get("d"), Some(&Value::Float(f64::MIN)));
        assert_eq!(row.get("bin"), Some(&Value::Bytes(b"a\0\0\0".to_vec())));
        assert_eq!(row.get("var"), Some(&Value::Bytes(vec![0, 255])));
        assert_eq!(row.get("tiny"), Some(&Value::Bytes(Vec::new())));
        assert_eq!(row.get("long_"), Some(&Value::Bytes(vec![255; 70_000])));
        assert_eq!(row.get("g"), Some(&Value::Bytes(vec![0xe1])));
        let Some(Value::Bytes(point)) = row.get("p") else { panic!("{row:?}") };
        assert_eq!((point.len(), &point[17..]), (25, &2.0_f64.to_le_bytes()[..]));
    })
    .await;
}

// shows: D3, hazard LB5
#[tokio::test]
async fn columns_that_an_image_leaves_out_are_not_null() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&["CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES (1, 2, NULL)"]).await;
        let mut source = server.reading(&["t"]).await;
        server.run(&["SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE t SET a = 3"]).await;
        assert_eq!(lines(&server.changes(&mut source).await), ["~shop.t id=1 -> a=3"]);
    })
    .await;
}
