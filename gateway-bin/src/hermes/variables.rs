//! The variables that say where boards are, as a Hermes of the same home has them.

use std::path::Path;

use super::dotenv;
use crate::config::Env;

/// Looks variables up: the `.env` in `home` goes before `env`, also with a value that is empty, and
/// `HERMES_HOME` is `home`.
///
/// The file is read once; one that cannot be read says nothing, and is told of elsewhere.
pub fn board_variables<'a>(
    home: &'a Path,
    env: &'a Env,
) -> impl Fn(&str) -> Option<String> + use<'a> {
    let file = dotenv::read(&home.join(".env")).unwrap_or_default().values;
    move |name| match (name, file.get(name)) {
        ("HERMES_HOME", _) => Some(home.to_string_lossy().into_owned()),
        (_, Some(value)) => Some(value.clone()),
        (name, None) => env.get(name).map(str::to_owned),
    }
}
