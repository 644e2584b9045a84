//! Templates: the operator's own words for messages to people.
//!
//! A template sees the fields of one event and nothing else: no file, no environment, no other template.
//! What it may cost and how long it may become is bounded, and every value that it tells is quoted, so
//! that a channel escapes it like any other word of a task.

mod bounds;
mod check;
mod quoted;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
};

use kanban_notify::{
    event::Kind, ids::ChannelName, message::Span, ports::Wording, record::Facts,
    text::fields::fields,
};
use minijinja::{Environment, Error, ErrorKind, Value};

pub use check::check;

use crate::AdapterError;

/// The longest template, in bytes.
pub const MAX_SOURCE: usize = 8_192;
/// The longest text that one may make, in bytes.
pub const MAX_TEXT: usize = 16_384;
const TOO_LONG: &str = "the text is longer than 16384 bytes";

/// Which messages a template is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The platform; `None` for every one without a template of its own.
    pub platform: Option<String>,
    /// The kind of event; `None` for every one without a template of its own.
    pub kind: Option<Kind>,
}

/// As it is called in the configuration.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("templates.")?;
        if let Some(platform) = &self.platform {
            write!(f, "{platform}.")?;
        }
        f.write_str(self.kind.map_or("default", Kind::name))
    }
}

/// Templates by their place.
pub type Sources = BTreeMap<Place, String>;

/// All templates of a gateway, compiled.
#[derive(Debug)]
pub struct Templates {
    environment: Environment<'static>,
    places: BTreeMap<Place, String>,
    /// Which failures were told already: a template and a kind.
    told: Mutex<BTreeSet<(String, Kind)>>,
}

impl Templates {
    /// Compiles and checks them.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Template`] for the first one that cannot be used.
    pub fn new(sources: &Sources) -> Result<Self, AdapterError> {
        let mut environment = bounds::environment();
        let mut places = BTreeMap::new();
        for (place, source) in sources {
            check(place, source)?;
            let name = place.to_string();
            let source = source.replace("\r\n", "\n");
            let added = bounds::with_room(|| environment.add_template_owned(name.clone(), source));
            added.and_then(|added| added).map_err(|error| check::refused(place, &error))?;
            places.insert(place.clone(), name);
        }
        Ok(Self { environment, places, told: Mutex::default() })
    }

    /// The template for a message: the platform's own before those for all, one for the kind before the
    /// default one.
    fn name(&self, platform: &str, kind: Kind) -> Option<&str> {
        let platform = Some(platform.to_owned());
        let place = |platform: &Option<String>, kind| Place { platform: platform.clone(), kind };
        let places = [
            place(&platform, Some(kind)),
            place(&platform, None),
            place(&None, Some(kind)),
            place(&None, None),
        ];
        places.iter().find_map(|place| self.places.get(place)).map(String::as_str)
    }

    /// A failure is told once for each template and kind, without a word of the task.
    fn tell(&self, name: &str, kind: Kind, error: &Error) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert((name.to_owned(), kind)) {
            let line = error.line().map(|line| format!(" in line {line}")).unwrap_or_default();
            // The engine's details may repeat what a field holds.
            let error = match error.detail() {
                Some(TOO_LONG) => TOO_LONG.to_owned(),
                _ => format!("{}{line}", error.kind()),
            };
            tracing::warn!(
                template = name,
                event.kind = kind.name(),
                error,
                "a template failed; our own text goes in its place"
            );
        }
    }
}

impl Wording for Templates {
    fn ping(&self, channel: &ChannelName, facts: &Facts, board: &str) -> Option<Vec<Span>> {
        let name = self.name(channel.as_str(), facts.kind)?;
        match render(&self.environment, name, facts, board) {
            // Nothing to say is no message.
            Ok(spans) => (!spans.is_empty()).then_some(spans),
            Err(error) => {
                self.tell(name, facts.kind, &error);
                None
            }
        }
    }
}

fn render(
    environment: &Environment<'_>,
    name: &str,
    facts: &Facts,
    board: &str,
) -> Result<Vec<Span>, Error> {
    let fields: BTreeMap<&str, String> = fields(facts, board).into_iter().collect();
    let template = environment.get_template(name)?;
    // The engine's arithmetic has its gaps; a message is ours then, and the gateway lives.
    let rendered = catch_unwind(AssertUnwindSafe(|| template.render(Value::from(fields))));
    let spans = quoted::spans(&rendered.unwrap_or_else(|_| Err(bounds::failed()))?);
    if spans.iter().map(|span| span.text().len()).sum::<usize>() > MAX_TEXT {
        return Err(Error::new(ErrorKind::InvalidOperation, TOO_LONG));
    }
    Ok(spans)
}
