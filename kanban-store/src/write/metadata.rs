//! What a worker hands over with a task: an object whose keys keep their order.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor},
    ser::{SerializeMap, SerializeSeq},
};

use super::{json, text::strip};
use crate::error::StoreError;

/// A JSON object, written as it was read: keys in order, of equal ones the last.
///
/// Whole numbers beyond 64 bits become fractions, which Hermes would keep whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata(Vec<(String, Node)>);

impl Metadata {
    /// Reads a JSON object.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        match serde_json::from_str(text) {
            Ok(Node::Object(members)) => Ok(Self(members)),
            _ => Err(StoreError::BadValue {
                what: "metadata",
                value: text.into(),
                advice: "give one JSON object, like {\"tests\": 12}",
            }),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names files that came of the task, after those that are named already.
    pub fn add_artifacts(&mut self, artifacts: &[String]) {
        let mut all: Vec<String> = Vec::new();
        let named = match self.member("artifacts") {
            Some(Node::Array(named)) => named.iter().filter_map(Node::as_text).collect(),
            _ => Vec::new(),
        };
        for artifact in named.into_iter().chain(artifacts.iter().map(String::as_str)) {
            let artifact = strip(artifact);
            if !artifact.is_empty() && all.iter().all(|known| known != artifact) {
                all.push(artifact.to_owned());
            }
        }
        if !artifacts.is_empty() {
            let all = Node::Array(all.into_iter().map(Node::Text).collect());
            put(&mut self.0, "artifacts".into(), all);
        }
    }

    /// The files that it names.
    pub fn artifacts(&self) -> Vec<String> {
        let Some(Node::Array(named)) = self.member("artifacts") else {
            return Vec::new();
        };
        let texts = named.iter().filter_map(Node::as_text).map(strip);
        texts.filter(|text| !text.is_empty()).map(str::to_owned).collect()
    }

    /// As it is stored; an empty one is not.
    pub(super) fn stored(&self) -> Option<String> {
        (!self.is_empty()).then(|| json::line(self))
    }

    fn member(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        object(&self.0, serializer)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Plain(serde_json::Value),
    Text(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

fn put(members: &mut Vec<(String, Node)>, key: String, value: Node) {
    match members.iter_mut().find(|(known, _)| *known == key) {
        Some((_, old)) => *old = value,
        None => members.push((key, value)),
    }
}

fn object<S: Serializer>(members: &[(String, Node)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(members.len()))?;
    for (key, value) in members {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(value) => value.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Self::Object(members) => object(members, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Plain(serde_json::Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Node::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = access.next_entry()? {
            put(&mut members, key, value);
        }
        Ok(Node::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_written_as_it_was_read() {
        let text = r#"{"z": [1, -2, 3.5, {"b": null, "a": true}], "é": "\"x\"", "e": {}}"#;
        assert_eq!(Metadata::parse(text).unwrap().stored().as_deref(), Some(text));
        let doubled = Metadata::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        assert_eq!(doubled.stored().as_deref(), Some(r#"{"a": 3, "b": 2}"#));
        assert_eq!(Metadata::parse("{}").unwrap().stored(), None);
        for wrong in ["[]", "1", "", "{", "\"text\""] {
            assert!(matches!(Metadata::parse(wrong), Err(StoreError::BadValue { .. })), "{wrong}");
        }
    }

    #[test]
    fn artifacts_are_added_once_and_after_the_others() {
        let mut metadata = Metadata::parse(r#"{"artifacts": [" /a ", 7, "/b"], "n": 1}"#).unwrap();
        metadata.add_artifacts(&[]);
        assert_eq!(metadata.artifacts(), ["/a", "/b"]);
        metadata.add_artifacts(&["/b".into(), " /c".into(), " ".into()]);
        let stored = r#"{"artifacts": ["/a", "/b", "/c"], "n": 1}"#;
        assert_eq!(metadata.stored().as_deref(), Some(stored));
    }
}
