//! Why nobody serves a platform here, and what to do about it.

use std::path::Path;

use kanban_notify::{ids::ChannelName, ownership::Why, subscription::API_SERVER};

use crate::{
    config::nearest,
    platforms::{PLATFORMS, Platform},
    wiring::Outlook,
};

/// Why there is no channel for a platform.
pub(super) fn why(outlook: &Outlook, platform: &str) -> String {
    let name = platform.trim().to_lowercase();
    let unusable = outlook.unusable.iter().find(|one| one.platform == name);
    match unusable {
        Some(unusable) => format!("its settings cannot be used: {}", unusable.problem),
        None if is_built(&name) => Why::NoChannel.text().to_owned(),
        // It begins as the log of `run` says it.
        None => format!("{}: this build has no platform `{name}`", Why::NoChannel.text()),
    }
}

/// What to do so that a platform is served; `None` where it is, and only a row is not.
pub(super) fn remedy(outlook: &Outlook, home: &Path, platform: &str) -> Option<String> {
    let name = platform.trim().to_lowercase();
    if outlook.world.channels.contains_key(&ChannelName(name.clone())) {
        return None;
    }
    if outlook.unusable.iter().any(|one| one.platform == name) {
        return Some("mend that, see `kanban-gateway config check`, and restart `run`".to_owned());
    }
    if let Some(platform) = PLATFORMS.iter().find(|platform| platform.name == name) {
        return Some(configure(platform, home));
    }
    Some(match name.as_str() {
        API_SERVER => "add `[[api_server]]` for their profile".to_owned(),
        "console" => "set `console.enabled`".to_owned(),
        _ => match meant(&name) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => {
                let names: Vec<String> =
                    crate::platforms::names().map(|name| format!("`{name}`")).collect();
                format!("it has {}", names.join(", "))
            }
        },
    })
}

/// Which keys or variables ask for a platform.
fn configure(platform: &Platform, home: &Path) -> String {
    let wanted = || platform.fields.iter().filter(|field| platform.wanted_by.contains(&field.name));
    let variables: Vec<&str> =
        wanted().map(|field| field.variable).filter(|variable| !variable.is_empty()).collect();
    let ours = format!("set {} in the configuration and restart `run`", platform.wanted_keys());
    match variables.as_slice() {
        [] => ours,
        variables => format!(
            "{ours}, or {} in {}, which `run` reads by itself",
            variables.join(" or "),
            home.join(".env").display()
        ),
    }
}

/// The platform that was meant by a name that is nearly one.
fn meant(platform: &str) -> Option<&'static str> {
    let known = crate::platforms::names().chain(crate::hermes::platform_names());
    nearest(platform, known).filter(|meant| *meant != platform)
}

fn is_built(name: &str) -> bool {
    crate::platforms::names().any(|known| known == name)
}
