//! Bodies of answers: near to what an API server says, or anything.

use arbitrary::Arbitrary;

/// Bytes of any kind, or a document in which places have other bytes.
#[derive(Arbitrary, Debug)]
pub enum Body<'a> {
    /// Anything.
    Raw(&'a [u8]),
    /// An answer to a wake.
    Answer(Vec<(u16, &'a [u8])>),
    /// The rows of a session.
    History(Vec<(u16, &'a [u8])>),
}

impl Body<'_> {
    /// The bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let (whole, changes) = match self {
            Self::Raw(bytes) => return bytes.to_vec(),
            Self::Answer(changes) => (include_bytes!("../answer.json").to_vec(), changes),
            Self::History(changes) => (include_bytes!("../history.json").to_vec(), changes),
        };
        changes.iter().fold(whole, |mut bytes, (at, with)| {
            let at = usize::from(*at) % bytes.len();
            bytes.splice(at..(at + with.len()).min(bytes.len()), with.iter().copied());
            bytes
        })
    }
}
