//! The operator's own words for messages to people.

use std::sync::Arc;

use gateway_adapters::template::Templates;
use kanban_notify::ports::Wording;

use super::no_channel;
use crate::{config::Config, gateway::StartError};

/// The templates of the configuration, if there are any.
pub(super) fn of(config: &Config) -> Result<Option<Arc<dyn Wording>>, StartError> {
    if config.templates.is_empty() {
        return Ok(None);
    }
    let templates = Templates::new(&config.templates).map_err(no_channel)?;
    Ok(Some(Arc::new(templates)))
}
