//! Strings of a JSON document, unescaped while they come in, kept up to a limit.

/// One string, from behind its first quote.
#[derive(Debug)]
pub(super) struct Unescape {
    kept: Vec<u8>,
    room: usize,
    wanted: bool,
    escape: Escape,
    // A first half of a pair that waits for its second.
    high: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Escape {
    None,
    Backslash,
    Hex { digits: u8, value: u32 },
}

impl Unescape {
    /// A string of which the first `room` bytes are kept, rounded down to whole characters.
    pub(super) fn new(room: usize) -> Self {
        Self { kept: Vec::new(), room, wanted: room > 0, escape: Escape::None, high: None }
    }

    /// Whether anything of it was asked for.
    pub(super) fn is_kept(&self) -> bool {
        self.wanted
    }

    /// What was kept: UTF-8, unless the document was not.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.lone();
        // A limit may have cut a character.
        if let Err(error) = std::str::from_utf8(&self.kept)
            && error.error_len().is_none()
        {
            self.kept.truncate(error.valid_up_to());
        }
        self.kept
    }

    /// Takes bytes up to the closing quote; answers what is left, and whether it closed.
    pub(super) fn push<'b>(&mut self, mut bytes: &'b [u8]) -> (&'b [u8], bool) {
        while let Some((&first, rest)) = bytes.split_first() {
            match self.escape {
                Escape::None => {
                    let run = bytes.iter().position(|b| matches!(b, b'"' | b'\\'));
                    let run = run.unwrap_or(bytes.len());
                    let (plain, rest) = bytes.split_at_checked(run).unwrap_or((bytes, &[]));
                    if !plain.is_empty() {
                        self.lone();
                        self.keep(plain);
                    }
                    bytes = match rest.split_first() {
                        Some((b'"', after)) => return (after, true),
                        Some((_, after)) => {
                            self.escape = Escape::Backslash;
                            after
                        }
                        None => rest,
                    };
                    continue;
                }
                Escape::Backslash => {
                    self.escape = Escape::None;
                    match first {
                        b'u' => {
                            self.escape = Escape::Hex { digits: 0, value: 0 };
                        }
                        b'n' => self.plain('\n'),
                        b't' => self.plain('\t'),
                        b'r' => self.plain('\r'),
                        b'b' => self.plain('\u{8}'),
                        b'f' => self.plain('\u{c}'),
                        other => self.plain(char::from(other)),
                    }
                }
                Escape::Hex { digits, value } => {
                    let digit = char::from(first).to_digit(16).unwrap_or(0);
                    let value = (value << 4) | digit;
                    self.escape = Escape::Hex { digits: digits.saturating_add(1), value };
                    if digits >= 3 {
                        self.escape = Escape::None;
                        self.unit(value);
                    }
                }
            }
            bytes = rest;
        }
        (bytes, false)
    }

    /// One UTF-16 unit of an escape.
    fn unit(&mut self, unit: u32) {
        match (self.high.take(), unit) {
            (Some(high), 0xDC00..=0xDFFF) => {
                let code = 0x1_0000 + ((high - 0xD800) << 10) + (unit - 0xDC00);
                self.push_char(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            (high, _) => {
                if high.is_some() {
                    self.push_char(char::REPLACEMENT_CHARACTER);
                }
                if matches!(unit, 0xD800..=0xDBFF) {
                    self.high = Some(unit);
                } else {
                    self.push_char(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
        }
    }

    fn plain(&mut self, c: char) {
        self.lone();
        self.push_char(c);
    }

    /// A first half without a second is replaced, as Python's own decoders do.
    fn lone(&mut self) {
        if self.high.take().is_some() {
            self.push_char(char::REPLACEMENT_CHARACTER);
        }
    }

    fn push_char(&mut self, c: char) {
        self.keep(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn keep(&mut self, bytes: &[u8]) {
        let some = bytes.get(..self.room.min(bytes.len())).unwrap_or_default();
        self.kept.extend_from_slice(some);
        self.room = self.room.saturating_sub(some.len());
    }
}
