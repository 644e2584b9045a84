//! A JSON reader that is fed piece by piece and keeps only what its sink asks for.
//!
//! Histories have no paging and answers may carry whole pictures, so neither is ever held in memory.

/// What a [`Sink`] is told of the value at a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event<'a> {
    /// A string, cut to what [`Sink::keep`] allowed; told only where that is above zero.
    Text(&'a str),
    /// A number as it was written.
    Number(&'a str),
    /// `true` or `false`.
    Bool(bool),
    /// `null`, or what Python writes for numbers that are none.
    Null,
    /// An object begins.
    Object,
    /// An array begins.
    Array,
    /// The object or array ends.
    End,
}

/// Takes the values of a document as they come.
pub(super) trait Sink {
    /// How many bytes to keep of the string at `path`.
    fn keep(&self, path: &Path) -> usize;

    /// Takes the value at `path`.
    fn take(&mut self, path: &Path, event: Event<'_>);
}

/// Where a value stands: a key for each object around it, a star for each array.
#[derive(Debug, Default)]
pub(super) struct Path {
    frames: Vec<Frame>,
}

impl Path {
    /// Whether this is the path with these keys, where `*` is any element of an array.
    pub(super) fn is(&self, pattern: &[&str]) -> bool {
        self.frames.len() == pattern.len()
            && self.frames.iter().zip(pattern).all(|(frame, wanted)| {
                if frame.is_array {
                    *wanted == "*"
                } else {
                    *wanted != "*" && frame.key == wanted.as_bytes()
                }
            })
    }
}

#[derive(Debug)]
struct Frame {
    is_array: bool,
    // Longer keys are cut: none that anybody asks for is as long.
    key: Vec<u8>,
}

/// The reader. Anything after a fault is ignored.
pub(super) struct JsonReader<S> {
    sink: S,
    path: Path,
    expect: Expect,
    token: Token,
    fault: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Expect {
    Value,
    ValueOrEnd,
    KeyOrEnd,
    Key,
    Colon,
    CommaOrEnd,
    Nothing,
}

#[derive(Debug)]
enum Token {
    None,
    /// A key or a string value.
    Text(super::json_text::Unescape),
    /// A number or a word.
    Bare(String),
}

const DEEPEST: usize = 128;
const LONGEST_KEY: usize = 64;
const LONGEST_BARE: usize = 64;

impl<S: Sink> JsonReader<S> {
    pub(super) fn new(sink: S) -> Self {
        Self { sink, path: Path::default(), expect: Expect::Value, token: Token::None, fault: None }
    }

    /// Reads the next piece; pieces may end anywhere.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while self.fault.is_none() && !bytes.is_empty() {
            bytes = match &mut self.token {
                Token::Text(text) => {
                    let (rest, ended) = text.push(bytes);
                    if ended {
                        self.end_text();
                    }
                    rest
                }
                Token::Bare(word) => {
                    let end = bytes.iter().position(|b| !is_bare(*b)).unwrap_or(bytes.len());
                    let (more, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
                    word.extend(more.iter().copied().map(char::from));
                    if word.len() > LONGEST_BARE {
                        self.fault = Some("the answer is no JSON: a number without end");
                    } else if !rest.is_empty() {
                        self.end_bare();
                    }
                    rest
                }
                Token::None => match bytes.split_first() {
                    Some((byte, rest)) => {
                        self.start(*byte);
                        rest
                    }
                    None => bytes,
                },
            };
        }
    }

    /// The sink, and whether what it saw was one whole document.
    pub(super) fn finish(self) -> (S, Result<(), &'static str>) {
        let whole = match (self.fault, self.expect) {
            (Some(fault), _) => Err(fault),
            (None, Expect::Nothing) => Ok(()),
            (None, _) => Err("the answer is no JSON, or ends in its middle"),
        };
        (self.sink, whole)
    }

    fn start(&mut self, byte: u8) {
        use Expect::{Colon, CommaOrEnd, Key, KeyOrEnd, Value, ValueOrEnd};
        match (byte, self.expect) {
            (b' ' | b'\t' | b'\r' | b'\n', _) => {}
            (b'"', Value | ValueOrEnd) => {
                let room = self.sink.keep(&self.path);
                self.token = Token::Text(super::json_text::Unescape::new(room));
            }
            (b'"', Key | KeyOrEnd) => {
                self.token = Token::Text(super::json_text::Unescape::new(LONGEST_KEY));
            }
            (b':', Colon) => self.expect = Value,
            (b',', CommaOrEnd) => {
                let in_array = self.path.frames.last().is_some_and(|frame| frame.is_array);
                self.expect = if in_array { Value } else { Key };
            }
            (b'{' | b'[', Value | ValueOrEnd) => self.open(byte == b'['),
            (b'}', KeyOrEnd | CommaOrEnd) => self.close(false),
            (b']', ValueOrEnd | CommaOrEnd) => self.close(true),
            (_, Value | ValueOrEnd) if is_bare(byte) && !self.path.frames.is_empty() => {
                self.token = Token::Bare(char::from(byte).to_string());
            }
            _ => self.fault = Some("the answer is no JSON"),
        }
    }

    fn open(&mut self, is_array: bool) {
        if self.path.frames.len() >= DEEPEST {
            self.fault = Some("the answer is nested too deeply");
            return;
        }
        let event = if is_array { Event::Array } else { Event::Object };
        self.sink.take(&self.path, event);
        self.path.frames.push(Frame { is_array, key: Vec::new() });
        self.expect = if is_array { Expect::ValueOrEnd } else { Expect::KeyOrEnd };
    }

    fn close(&mut self, is_array: bool) {
        match self.path.frames.pop() {
            Some(frame) if frame.is_array == is_array => {
                self.sink.take(&self.path, Event::End);
                self.after_value();
            }
            _ => self.fault = Some("the answer is no JSON"),
        }
    }

    fn end_text(&mut self) {
        let Token::Text(text) = std::mem::replace(&mut self.token, Token::None) else {
            return;
        };
        if matches!(self.expect, Expect::Key | Expect::KeyOrEnd) {
            if let Some(frame) = self.path.frames.last_mut() {
                frame.key = text.into_bytes();
            }
            self.expect = Expect::Colon;
            return;
        }
        if text.is_kept() {
            let bytes = text.into_bytes();
            self.sink.take(&self.path, Event::Text(&String::from_utf8_lossy(&bytes)));
        }
        self.after_value();
    }

    fn end_bare(&mut self) {
        let Token::Bare(word) = std::mem::replace(&mut self.token, Token::None) else {
            return;
        };
        let event = match word.as_str() {
            "true" => Event::Bool(true),
            "false" => Event::Bool(false),
            "null" | "NaN" | "Infinity" | "-Infinity" => Event::Null,
            number if number.parse::<f64>().is_ok() => Event::Number(number),
            _ => {
                self.fault = Some("the answer is no JSON");
                return;
            }
        };
        self.sink.take(&self.path, event);
        self.after_value();
    }

    fn after_value(&mut self) {
        self.expect =
            if self.path.frames.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd };
    }
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps every string, and writes down what it is told.
    #[derive(Default)]
    struct Log(Vec<String>);

    impl Sink for Log {
        fn keep(&self, path: &Path) -> usize {
            if path.is(&["short"]) { 3 } else { 1000 }
        }

        fn take(&mut self, path: &Path, event: Event<'_>) {
            let depth = path.frames.len();
            self.0.push(format!("{depth} {event:?}"));
        }
    }

    fn events(document: &[u8], piece: usize) -> (Vec<String>, Result<(), &'static str>) {
        let mut reader = JsonReader::new(Log::default());
        document.chunks(piece).for_each(|bytes| reader.push(bytes));
        let (log, whole) = reader.finish();
        (log.0, whole)
    }

    #[test]
    fn pieces_may_end_anywhere() {
        let document = r#" {"a":[1,-2.5e3,"x\n\u00e9\ud83d\ude00 日"],"short":"abcdef", "b":{"c":null,
            "d":true,"e":{},"f":[]}} "#;
        let whole = events(document.as_bytes(), document.len());
        assert_eq!(whole.1, Ok(()));
        assert!(whole.0.contains(&"2 Text(\"x\\né😀 日\")".to_owned()), "{whole:?}");
        assert!(whole.0.contains(&"1 Text(\"abc\")".to_owned()));
        for piece in 1..9 {
            assert_eq!(events(document.as_bytes(), piece), whole, "{piece}");
        }
    }

    #[test]
    fn what_python_writes_beside_the_standard_is_read() {
        let (log, whole) = events(br#"{"a":NaN,"b":-Infinity,"c":"\ud83d!"}"#, 4);
        assert_eq!(whole, Ok(()));
        assert!(log.contains(&"1 Text(\"\u{fffd}!\")".to_owned()), "{log:?}");
    }

    #[test]
    fn what_is_no_document_is_a_fault() {
        let deep = "[".repeat(129);
        let long = format!("[{}", "1".repeat(100));
        for bad in [
            "",
            " ",
            "<html>",
            "12",
            "nul",
            "{",
            "[1",
            "{\"a\"}",
            "{\"a\":}",
            "[1 2]",
            "[,]",
            "[1,]",
            "{\"a\":1,}",
            "{1:2}",
            "[1}",
            "{\"a\":1]",
            "]",
            "{} {}",
            "[tru]",
            "[1-2]",
            "{\"a\":\"x",
            &deep,
            &long,
        ] {
            assert!(events(bad.as_bytes(), 3).1.is_err(), "{bad}");
        }
    }

    #[test]
    fn a_path_names_keys_and_elements() {
        let path = Path {
            frames: vec![
                Frame { is_array: false, key: b"data".to_vec() },
                Frame { is_array: true, key: Vec::new() },
            ],
        };
        assert!(path.is(&["data", "*"]));
        assert!(!path.is(&["data"]) && !path.is(&["*", "*"]) && !path.is(&["data", ""]));
    }
}
