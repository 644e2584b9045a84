//! The table: every way a request can end, with its verdict and what becomes of the delivery.

use std::time::Duration;

use gateway_adapters::receiver::RawAct::{self, Hold, ReadHead, ReadPart, ReadRequest, Reset, Tls};

use super::{
    case::{Case, Outcome, Outcome::*, Place, parts::*},
    certificate,
};

/// All cases. Redirects lead to `elsewhere`.
pub fn all(elsewhere: &str) -> Vec<Case> {
    [
        connecting(),
        sending(),
        heads(),
        bodies(),
        contents(),
        statuses(elsewhere),
        hints(),
        looks(),
        probes(),
        seconds(),
    ]
    .concat()
}

const SOON: Outcome = Again(Duration::ZERO);

const fn after(millis: u64) -> Outcome {
    Again(Duration::from_millis(millis))
}

#[rustfmt::skip]
fn connecting() -> Vec<Case> {
    let (certificate, key) = certificate::made();
    let tls = |name, injected, acts| case(Place::Tls, name, injected, acts, "unreachable", Waits, "D7, D8");
    vec![
        case(Place::Nobody, "refused", "nobody listens at the port", vec![], "unreachable", Waits, "D3, D8, report_102"),
        case(Place::NoName, "no_such_host", "the host's name has no address", vec![], "unreachable", Waits, "D3, D7"),
        tls("tls_plain_answer", "the handshake is answered in plain HTTP", vec![write("HTTP/1.1 400 Bad Request\r\n\r\n")]),
        tls("tls_alert", "the handshake ends in a fatal alert", vec![RawAct::Write(b"\x15\x03\x03\x00\x02\x02\x28".to_vec())]),
        tls("tls_untrusted", "a certificate that nobody signed", vec![Tls { certificate, key }]),
        tls("tls_closed", "the connection is closed in the handshake", vec![]),
        tls("tls_reset", "the connection is reset in the handshake", vec![Reset]),
        silent(tls("tls_silence", "the handshake is never answered: time-out before a byte left", vec![Hold])),
    ]
}

#[rustfmt::skip]
fn sending() -> Vec<Case> {
    let sent = |name, injected, acts| unknown(name, injected, acts, "D7, W6");
    vec![
        sent("reset_at_once", "reset before a byte of the request is read", vec![RawAct::Await, Reset]),
        sent("closed_at_once", "closed before a byte of the request is read", vec![RawAct::Await]),
        sent("reset_after_head", "reset between head and body of the request", vec![ReadHead, Reset]),
        sent("reset_in_body", "reset in the middle of the request's body", vec![ReadPart(10), Reset]),
        unknown("reset_after_request", "reset after the whole request", vec![ReadRequest, Reset], "D7, W6, report_73"),
        unknown("closed_after_request", "closed after the whole request", vec![ReadRequest], "D7, W6, report_37"),
        silent(sent("unread", "the request is never read, nothing is answered", vec![Hold])),
        silent(unknown("unanswered", "the request is read and never answered: time-out", vec![ReadRequest, Hold], "D7, W6, report_139")),
    ]
}

#[rustfmt::skip]
fn heads() -> Vec<Case> {
    let raw = |name, injected, text: &str| unknown(name, injected, vec![ReadRequest, write(text)], "D7, W7");
    let told = |name, injected, text: &str| case(Place::Wake, name, injected, vec![ReadRequest, write(text)], "delivered", Told, "W7");
    let noted = noted();
    let length = noted.len();
    vec![
        raw("half_status_line", "the answer ends in its status line", "HTTP/1.1 20"),
        raw("half_head", "the answer ends in a header line", "HTTP/1.1 200 OK\r\ncontent-le"),
        silent(unknown("head_without_end", "half a head, then silence", vec![ReadRequest, write("HTTP/1.1 200 OK\r\na: b\r\n"), Hold], "D7")),
        unknown("endless_headers", "header after header, without end", vec![ReadRequest, write("HTTP/1.1 200 OK\r\n"), RawAct::WriteForever(b"x-more: y\r\n".repeat(100))], "D7"),
        unknown("endless_header_line", "one header line without end", vec![ReadRequest, write("HTTP/1.1 200 OK\r\nx-long: "), RawAct::WriteForever(vec![b'a'; 4096])], "D7"),
        unknown("endless_reason", "a status line without end", vec![ReadRequest, write("HTTP/1.1 200 "), RawAct::WriteForever(vec![b'a'; 4096])], "D7"),
        raw("other_protocol", "the greeting of an SSH server", "SSH-2.0-OpenSSH_9.9\r\n"),
        unknown("binary_noise", "bytes that are no text", vec![ReadRequest, RawAct::Write((0..=255).collect())], "D7"),
        raw("body_without_head", "a completion without any head", &noted),
        raw("unknown_version", "HTTP/3.7", &format!("HTTP/3.7 200 OK\r\ncontent-length: {length}\r\n\r\n{noted}")),
        raw("status_of_two_digits", "status 20", "HTTP/1.1 20 OK\r\ncontent-length: 0\r\n\r\n"),
        raw("status_in_words", "status OK", "HTTP/1.1 OK\r\ncontent-length: 0\r\n\r\n"),
        raw("control_in_header", "a NUL in a header", &format!("HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: {length}\r\n\r\n{noted}")),
        raw("space_in_header_name", "a space in a header's name", &format!("HTTP/1.1 200 OK\r\nx y: z\r\ncontent-length: {length}\r\n\r\n{noted}")),
        raw("two_lengths", "two content-lengths that differ", &format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\ncontent-length: 5\r\n\r\n{noted}")),
        raw("length_no_number", "content-length: many", &format!("HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n{noted}")),
        raw("length_negative", "content-length: -1", &format!("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{noted}")),
        raw("length_overflows", "content-length: 2^64", &format!("HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551616\r\n\r\n{noted}")),
        told("http_1_0", "HTTP/1.0 with a length", &format!("HTTP/1.0 200 OK\r\ncontent-length: {length}\r\n\r\n{noted}")),
        told("http_1_0_to_the_end", "HTTP/1.0, the body ends with the connection", &format!("HTTP/1.0 200 OK\r\n\r\n{noted}")),
        raw("http_1_0_cut", "HTTP/1.0, the connection ends in the middle of the body", &format!("HTTP/1.0 200 OK\r\n\r\n{}", &noted[..30])),
        told("continue_first", "100 Continue, then the answer", &format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{noted}")),
        told("early_hints_first", "103 Early Hints, then the answer", &format!("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{noted}")),
        silent(unknown("continue_only", "100 Continue, then silence", vec![ReadRequest, write("HTTP/1.1 100 Continue\r\n\r\n"), Hold], "D7")),
        silent(unknown("continue_forever", "100 Continue over and over", vec![ReadRequest, RawAct::WriteForever(b"HTTP/1.1 100 Continue\r\n\r\n".repeat(50))], "D7")),
        raw("switching_protocols", "101 Switching Protocols", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
        case(Place::Wake, "answered_unread", "an answer before the request is read", vec![RawAct::Await, RawAct::respond("200 OK", "", &noted)], "delivered", Told, "W7"),
        case(Place::Wake, "refused_unread", "413 before the request is read", vec![RawAct::Await, RawAct::respond("413 Content Too Large", "", &error("x"))], "payload", Parked, "W7"),
        told("bare_line_feeds", "line feeds alone end the lines of the head", &format!("HTTP/1.1 200 OK\ncontent-length: {length}\n\n{noted}")),
    ]
}

#[rustfmt::skip]
fn bodies() -> Vec<Case> {
    let raw = |name, injected, text: &str| unknown(name, injected, vec![ReadRequest, write(text)], "D7, W7");
    let told = |name, injected, text: &str| case(Place::Wake, name, injected, vec![ReadRequest, write(text)], "delivered", Told, "W7");
    let noted = noted();
    let length = noted.len();
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("{length:x}\r\n{noted}\r\n");
    let half = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{}", &noted[..20]);
    vec![
        raw("half_body", "the connection ends in the middle of the body", &half),
        unknown("half_body_reset", "reset in the middle of the body", vec![ReadRequest, write(&half), Reset], "D7"),
        silent(unknown("half_body_then_silence", "half a body, then silence", vec![ReadRequest, write(&half), Hold], "D7")),
        silent(unknown("head_then_silence", "a whole head, then silence", vec![ReadRequest, write(chunked), Hold], "D7")),
        raw("length_too_long", "a content-length of one byte too many", &format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{noted}", length + 1)),
        raw("length_too_short", "a content-length of one byte too few", &format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{noted}", length - 1)),
        raw("length_zero", "content-length: 0, and a body all the same", &format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n{noted}")),
        told("chunked", "an answer in chunks", &format!("{chunked}{chunk}0\r\n\r\n")),
        told("chunked_with_trailers", "chunks, then trailers", &format!("{chunked}{chunk}0\r\nx-sum: 1\r\n\r\n")),
        told("length_and_chunks", "a wrong length beside chunks", &format!("HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n{chunk}0\r\n\r\n")),
        raw("chunk_of_no_size", "a chunk whose size is no number", &format!("{chunked}zz\r\n{noted}\r\n0\r\n\r\n")),
        raw("chunk_size_overflows", "a chunk of 2^64 bytes", &format!("{chunked}10000000000000000\r\n{noted}\r\n")),
        raw("chunk_too_long", "a chunk longer than its size says", &format!("{chunked}5\r\n{noted}\r\n0\r\n\r\n")),
        raw("chunk_cut", "the connection ends in a chunk", &format!("{chunked}{length:x}\r\n{}", &noted[..20])),
        raw("last_chunk_missing", "the connection ends before the last chunk", &format!("{chunked}{chunk}")),
        unknown("endless_body", "a body without end", vec![ReadRequest, write(chunked), RawAct::WriteForever(format!("10000\r\n{}\r\n", "x".repeat(0x10000)).into_bytes())], "D7"),
        unknown("endless_trailers", "trailers without end", vec![ReadRequest, write(&format!("{chunked}{chunk}0\r\n")), RawAct::WriteForever(b"x-more: y\r\n".repeat(100))], "D7"),
        raw("unasked_gzip", "a compressed body that nobody asked for", "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\n\x1f\u{8b}"),
    ]
}

#[rustfmt::skip]
fn contents() -> Vec<Case> {
    let unclear = |name, injected, body: &str| unknown(name, injected, vec![ReadRequest, RawAct::respond("200 OK", "", body)], "W7");
    let told = |name, injected, body: &str| case(Place::Wake, name, injected, vec![ReadRequest, RawAct::respond("200 OK", "", body)], "delivered", Told, "W7");
    let failed = |name, injected, body: &str| case(Place::Wake, name, injected, vec![ReadRequest, RawAct::respond("200 OK", "", body)], "failed_turn", NewTurn, "W7");
    let noted = noted();
    let deep = |depth| format!("{},\"x\":{}1{}}}", noted.strip_suffix('}').unwrap(), "[".repeat(depth), "]".repeat(depth));
    let invalid = { let mut bytes = content(r#""No?ted.""#).into_bytes(); bytes.iter_mut().filter(|b| **b == b'?').for_each(|b| *b = 0xff); bytes };
    let head = RawAct::Write(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", invalid.len()).into_bytes());
    vec![
        unclear("empty_body", "200 with nothing", ""),
        unclear("html", "200 with a page", "<html><body>Log in</body></html>"),
        unclear("plain_text", "200 with a word", "OK"),
        unclear("events", "200 with server-sent events", &format!("data: {noted}\n\ndata: [DONE]\n\n")),
        unclear("json_cut", "JSON that ends in the middle", noted.strip_suffix("}").unwrap()),
        unclear("json_twice", "two completions in one body", &noted.repeat(2)),
        unclear("json_in_words", "a completion within a sentence", &format!("Here it is: {noted}")),
        unclear("byte_order_mark", "a byte order mark before the JSON", &format!("\u{feff}{noted}")),
        unclear("an_array", "a completion within an array", &format!("[{noted}]")),
        unclear("a_string", "a JSON string", "\"Noted.\""),
        unclear("null", "null", "null"),
        unclear("empty_object", "an empty object", "{}"),
        unclear("other_shape", "an object of another kind", r#"{"ok":true}"#),
        unclear("choices_an_object", "choices that are no list", r#"{"choices":{"message":{"content":"Noted."}}}"#),
        unclear("no_choices", "an empty list of choices", r#"{"choices":[]}"#),
        unclear("message_null", "a message that is null", &choice(r#""message":null"#)),
        unclear("content_null", "a content that is null", &content("null")),
        unclear("content_a_number", "a content that is a number", &content("7")),
        unclear("content_blank", "an answer of white space", &content(r#"" \n""#)),
        unclear("content_in_the_wrong_place", "an answer outside of any message", r#"{"content":"Noted.","choices":[{"content":"Noted."}]}"#),
        unknown("error_in_200", "200 with an error", vec![ReadRequest, RawAct::respond("200 OK", "", &error("internal"))], "W7, report_2"),
        unclear("incomplete_in_200", "200 with the code of a failed turn", &error("agent_incomplete")),
        unclear("too_deep", "an answer beside 129 nested arrays", &deep(129)),
        unclear("very_deep", "100 000 brackets", &"[".repeat(100_000)),
        told("deep", "an answer beside 100 nested arrays", &deep(100)),
        told("large", "an answer of five megabytes", &content(&format!("\"{}\"", "Noted. ".repeat(750_000)))),
        told("parts", "an answer in parts", &content(r#"[{"type":"text","text":"Noted."}]"#)),
        told("keys_twice", "a completion whose first choices are empty", &format!("{{\"choices\":[],{}", noted.strip_prefix('{').unwrap())),
        told("lone_surrogate", "half a surrogate pair in the answer", &content(r#""Noted \ud83d.""#)),
        told("not_a_number", "NaN beside the answer", &format!("{},\"cost\":NaN}}", noted.strip_suffix('}').unwrap())),
        case(Place::Wake, "invalid_utf8", "bytes in the answer that are no UTF-8", vec![ReadRequest, head, RawAct::Write(invalid)], "delivered", Told, "W7"),
        told("out_of_budget", "an answer that says it is not complete", &hermes(r#""completed":false,"failed":false"#)),
        failed("hermes_failed", "200 whose turn failed", &hermes(r#""completed":false,"failed":true,"error":"no model""#)),
        failed("finish_error", "200 that ended in an error", &choice(r#""message":{"content":"Noted."},"finish_reason":"error""#)),
        case(Place::Wake, "header_incomplete", "an answer whose header says that it is not complete", vec![ReadRequest, RawAct::respond("200 OK", "X-Hermes-Completed: false\r\n", &noted)], "delivered", Told, "W7"),
        case(Place::Wake, "created", "201 with an answer", vec![ReadRequest, RawAct::respond("201 Created", "", &noted)], "delivered", Told, "W7, report_138"),
        unknown("accepted", "202 with nothing", vec![ReadRequest, RawAct::respond("202 Accepted", "", "")], "W7"),
        unknown("no_content", "204 with nothing", vec![ReadRequest, write("HTTP/1.1 204 No Content\r\n\r\n")], "W7"),
        unknown("partial_content", "206 with half of an answer", vec![ReadRequest, RawAct::respond("206 Partial Content", "content-range: bytes 0-19/99\r\n", &noted[..20])], "W7"),
    ]
}

#[rustfmt::skip]
fn statuses(elsewhere: &str) -> Vec<Case> {
    let redirect = |name, line: &str| {
        let location = format!("location: {elsewhere}/v1/chat/completions\r\n");
        let acts = vec![ReadRequest, RawAct::respond(line, &location, "")];
        case(Place::Wake, name, &format!("{line}, to another server"), acts, "retryable", SOON, "W7, report_133")
    };
    let session = r#"{"error":{"message":"Invalid session ID"}}"#;
    let flood = format!(r#"{{"error":{{"message":{}}}}}"#, serde_json::json!("no\u{1b}[31m\n".repeat(500_000)));
    let cut = |line: &str| vec![ReadRequest, write(&format!("HTTP/1.1 {line}\r\ncontent-length: 99\r\n\r\n{{\"er"))];
    vec![
        redirect("moved_permanently", "301 Moved Permanently"),
        redirect("found_elsewhere", "302 Found"),
        redirect("see_other", "303 See Other"),
        redirect("temporary_redirect", "307 Temporary Redirect"),
        redirect("permanent_redirect", "308 Permanent Redirect"),
        status("not_modified", "304 Not Modified", "", "retryable", SOON, "W7"),
        status("bad_request", "400 Bad Request", "", "payload", Parked, "W7, report_121"),
        case(Place::Wake, "bad_session", "400 about the session id", vec![ReadRequest, RawAct::respond("400 Bad Request", "", session)], "target", Parked, "W2, D8, report_19"),
        status("unauthorized", "401 Unauthorized", "", "credential", KeyRests, "W7, D8, report_51"),
        case(Place::Wake, "unauthorized_cut", "401 whose body is cut off", cut("401 Unauthorized"), "credential", KeyRests, "W7, D8"),
        status("forbidden", "403 Forbidden", "", "credential", KeyRests, "W7, D8, report_128"),
        status("payment_required", "402 Payment Required", "", "retryable", SOON, "W7"),
        status("not_found", "404 Not Found", "", "retryable", SOON, "W7, report_20"),
        status("method_not_allowed", "405 Method Not Allowed", "", "retryable", SOON, "W7"),
        status("proxy_wants_a_key", "407 Proxy Authentication Required", "", "retryable", SOON, "W7"),
        status("request_timeout", "408 Request Timeout", "", "retryable", SOON, "W7"),
        status("conflict", "409 Conflict", "retry-after: 1\r\n", "busy", after(1_000), "W7, report_130"),
        status("gone", "410 Gone", "", "retryable", SOON, "W7"),
        status("too_large", "413 Content Too Large", "", "payload", Parked, "W7, report_131"),
        case(Place::Wake, "too_large_cut", "413 whose body is cut off", cut("413 Content Too Large"), "payload", Parked, "W7"),
        status("wrong_media_type", "415 Unsupported Media Type", "", "payload", Parked, "W7"),
        status("unprocessable", "422 Unprocessable Content", "", "payload", Parked, "W7"),
        status("too_early", "425 Too Early", "retry-after: 1\r\n", "retryable", after(1_000), "W7, D8"),
        status("headers_too_large", "431 Request Header Fields Too Large", "", "payload", Parked, "W7"),
        status("server_error", "500 Internal Server Error", "", "retryable", SOON, "W7, report_35"),
        status("server_error_with_a_hint", "500 Internal Server Error", "retry-after: 1\r\n", "retryable", after(1_000), "D8"),
        case(Place::Wake, "server_error_flood", "500 with 5 MB of line breaks and escape codes", vec![ReadRequest, RawAct::respond("500 Internal Server Error", "", &flood)], "retryable", SOON, "W7, report_136"),
        case(Place::Wake, "server_error_cut", "500 whose body is cut off", cut("500 Internal Server Error"), "retryable", SOON, "W7"),
        unknown_status("not_implemented", "501 Not Implemented"),
        unknown_status("bad_gateway", "502 Bad Gateway"),
        case(Place::Wake, "bad_gateway_page", "502 with a page", vec![ReadRequest, RawAct::respond("502 Bad Gateway", "", "<html>502</html>")], "unknown", FoundOut, "W7"),
        case(Place::Wake, "agent_incomplete", "502 with the code agent_incomplete", vec![ReadRequest, RawAct::respond("502 Bad Gateway", "", &error("agent_incomplete"))], "failed_turn", NewTurn, "W7, report_37"),
        case(Place::Wake, "agent_incomplete_cut", "502 agent_incomplete that is cut off", vec![ReadRequest, write("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 99\r\n\r\n{\"error\":{\"code\":\"agent_incomplete\"}}")], "unknown", FoundOut, "W7"),
        case(Place::Wake, "draining", "503 with the code gateway_draining", vec![ReadRequest, RawAct::respond("503 Service Unavailable", "retry-after: 1\r\n", &error("gateway_draining"))], "busy", after(1_000), "W7, D8"),
        status("unavailable", "503 Service Unavailable", "", "busy", SOON, "W7"),
        unknown_status("gateway_timeout", "504 Gateway Timeout"),
        unknown_status("wrong_version", "505 HTTP Version Not Supported"),
        unknown_status("status_599", "599 Network Connect Timeout"),
        unknown_status("status_999", "999 Request Denied"),
    ]
}

#[rustfmt::skip]
fn hints() -> Vec<Case> {
    let busy = |name, headers: &str, outcome, cites| status(name, "429 Too Many Requests", headers, "busy", outcome, cites);
    let dates = |after: u32| format!("date: Sun, 06 Nov 1994 08:50:00 GMT\r\nretry-after: Sun, 06 Nov 1994 08:50:{after:02} GMT\r\n");
    vec![
        busy("busy", "", SOON, "D8"),
        busy("busy_seconds", "retry-after: 1\r\n", after(1_000), "D8, report_100, report_101"),
        busy("busy_zero", "retry-after: 0\r\n", SOON, "D8"),
        busy("busy_fraction", "retry-after: 0.65\r\n", after(650), "D8, report_112"),
        busy("busy_date", &dates(2), after(2_000), "D8, report_101"),
        busy("busy_date_past", "retry-after: Sun, 06 Nov 1994 08:50:00 GMT\r\n", SOON, "D8"),
        busy("busy_nonsense", "retry-after: abc\r\n", SOON, "D8, report_101"),
        busy("busy_negative", "retry-after: -5\r\n", SOON, "D8, report_101"),
        busy("busy_huge", "retry-after: 1000000000\r\n", AnHour, "D8, report_101"),
        busy("busy_date_far", "retry-after: Fri, 31 Dec 9999 23:59:59 GMT\r\n", AnHour, "D8, report_69"),
        busy("busy_two_hints", "retry-after: 1\r\nretry-after: 5000\r\n", after(1_000), "D8"),
        case(Place::Wake, "busy_cut", "429 whose body is cut off", vec![ReadRequest, write("HTTP/1.1 429 Too Many Requests\r\ncontent-length: 99\r\nretry-after: 1\r\n\r\n{\"er")], "busy", after(1_000), "D8"),
    ]
}

/// What the second request meets counts for itself: a look has shown that the first one ran nothing.
#[rustfmt::skip]
fn seconds() -> Vec<Case> {
    let again = |name, injected, acts, verdict, outcome| case(Place::Second, name, injected, acts, verdict, outcome, "D3, D7, W6");
    let says = |status| vec![ReadRequest, RawAct::respond(status, "", &error("code"))];
    vec![
        again("cut_then_cut", "cut off a second time", vec![ReadRequest, Reset], "unknown", FoundOut),
        again("cut_then_busy", "cut off, then 429", says("429 Too Many Requests"), "busy", SOON),
        again("cut_then_error", "cut off, then 500", says("500 Internal Server Error"), "retryable", SOON),
        again("cut_then_failed", "cut off, then a failed turn", vec![ReadRequest, RawAct::respond("502 Bad Gateway", "", &error("agent_incomplete"))], "failed_turn", NewTurn),
        again("cut_then_too_large", "cut off, then 413", says("413 Content Too Large"), "payload", Parked),
        again("cut_then_refused", "cut off, then 401", says("401 Unauthorized"), "credential", KeyRests),
        again("cut_then_answered", "cut off, then answered", vec![ReadRequest, RawAct::respond("200 OK", "", &noted())], "delivered", Told),
    ]
}

#[rustfmt::skip]
fn looks() -> Vec<Case> {
    let look = |name, injected, acts, verdict, outcome| case(Place::Look, name, injected, acts, verdict, outcome, "W6");
    let failed = |name, injected, acts| look(name, injected, acts, "failed", LookedAgain);
    let says = |status, body: &str| vec![ReadRequest, RawAct::respond(status, "", body)];
    let missing = r#"{"error":{"message":"Session not found","code":"session_not_found"}}"#;
    let deep = format!(r#"{{"data":{}"#, "[".repeat(200));
    vec![
        failed("look_closed", "a look whose connection is closed", vec![ReadRequest]),
        failed("look_reset", "a look whose connection is reset", vec![ReadHead, Reset]),
        silent(failed("look_silence", "a look that is never answered", vec![ReadRequest, Hold])),
        failed("look_cut", "a history that is cut off", vec![ReadRequest, write("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"session_id\":\"s\",\"data\":[")]),
        failed("look_json_cut", "a history whose JSON ends in the middle", says("200 OK", r#"{"session_id":"s","data":["#)),
        failed("look_endless", "a history without end", vec![ReadRequest, write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"), RawAct::WriteForever(format!("10000\r\n{}\r\n", "x".repeat(0x10000)).into_bytes())]),
        failed("look_html", "a page instead of a history", says("200 OK", "<html>Log in</html>")),
        failed("look_no_list", "a history that is no list", says("200 OK", r#"{"data":{}}"#)),
        failed("look_deep", "a history of 200 nested arrays", says("200 OK", &deep)),
        look("look_unauthorized", "a look whose key is refused", says("401 Unauthorized", &error("invalid_api_key")), "credential", LookRests),
        failed("look_busy", "a look answered 429", says("429 Too Many Requests", &error("rate_limit_exceeded"))),
        failed("look_server_error", "a look answered 500", says("500 Internal Server Error", &error("internal"))),
        failed("look_unavailable", "a look answered 503", says("503 Service Unavailable", missing)),
        failed("look_redirected", "a look that is redirected", says("302 Found", "")),
        look("look_no_route", "a server without a route to its sessions", says("404 Not Found", "404: Not Found"), "unsupported", Marked),
        look("look_no_method", "a server that lets nobody look", says("405 Method Not Allowed", ""), "unsupported", Marked),
        look("look_unknown_session", "a server that denies the session in which the turn ran", says("404 Not Found", missing), "absent", Joined),
    ]
}

#[rustfmt::skip]
fn probes() -> Vec<Case> {
    let probe = |name, injected, acts, verdict| case(Place::Probe, name, injected, acts, verdict, ProbedAgain, "D8");
    let says = |status| vec![ReadRequest, RawAct::respond(status, "", &error("x"))];
    vec![
        probe("probe_refused", "the probe's key is refused too", says("401 Unauthorized"), "credential"),
        probe("probe_closed", "the probe's connection is closed", vec![ReadRequest], "retryable"),
        probe("probe_busy", "the probe is answered 429", says("429 Too Many Requests"), "busy"),
        probe("probe_server_error", "the probe is answered 500", says("500 Internal Server Error"), "retryable"),
        probe("probe_bad_gateway", "the probe is answered 502", says("502 Bad Gateway"), "unknown"),
    ]
}

fn case(
    place: Place,
    name: &'static str,
    injected: &str,
    acts: Vec<RawAct>,
    verdict: &'static str,
    outcome: Outcome,
    cites: &'static str,
) -> Case {
    Case {
        name,
        injected: injected.to_owned(),
        place,
        acts,
        silent: false,
        verdict,
        outcome,
        cites,
    }
}

fn unknown(name: &'static str, injected: &str, acts: Vec<RawAct>, cites: &'static str) -> Case {
    case(Place::Wake, name, injected, acts, "unknown", FoundOut, cites)
}

/// A status with an error that repeats secrets.
fn status(
    name: &'static str,
    line: &str,
    headers: &str,
    verdict: &'static str,
    outcome: Outcome,
    cites: &'static str,
) -> Case {
    let shown = headers.trim_end().replace("\r\n", ", ");
    let injected = if shown.is_empty() { line.to_owned() } else { format!("{line}, {shown}") };
    let acts = vec![ReadRequest, RawAct::respond(line, headers, &error("code"))];
    case(Place::Wake, name, &injected, acts, verdict, outcome, cites)
}

fn unknown_status(name: &'static str, line: &str) -> Case {
    status(name, line, "", "unknown", FoundOut, "W7")
}

/// Ended by a time-out alone.
fn silent(case: Case) -> Case {
    Case { silent: true, ..case }
}

fn write(text: &str) -> RawAct {
    RawAct::Write(text.as_bytes().to_vec())
}
