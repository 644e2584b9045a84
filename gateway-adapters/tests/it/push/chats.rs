//! What a chat must look like is told before anything is owed to it.

use gateway_adapters::push::{PLATFORMS, Platform, Settings, platform};

/// Settings of a platform, by field.
fn settings(platform: &Platform, set: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::default();
    for (field, value) in set {
        let field = platform.fields.iter().find(|known| known.name == *field).unwrap();
        settings.set(field, value);
    }
    settings
}

#[test]
fn chats_that_can_never_work_are_told_from_those_that_can() {
    let id = "abcdefghijklmnopqrstuvwxyz";
    let targets = "ops=https://hooks.example.org/x";
    let secret = ("secret", "a-secret-of-twenty-four-and-more");
    for (name, set, right, wrong) in [
        ("discord", &[][..], &["1", "175928847299117063"][..], &["", "general", "#1", "１"][..]),
        ("discord_webhook", &[], &["a name of mine"], &["", " "]),
        ("email", &[], &["me@example.org"], &["", "me", "Me <me@example.org>", "ü@example.org"]),
        ("matrix", &[], &["!abc:example.org", "!abc"], &["", "!", "#room:example.org", "room"]),
        ("mattermost", &[("token", "t")], &[id], &["", "town-square", "@me"]),
        ("mattermost", &[("webhook", "w"), ("token", "t")], &["town-square", "@me"], &["", " "]),
        ("mattermost", &[], &["town-square", id], &[""]),
        ("ntfy", &[], &["my_Topic-1"], &["", "a topic", "a/b", &"x".repeat(65)]),
        ("gotify", &[], &["a name of mine"], &[""]),
        ("homeassistant", &[], &["a name of mine"], &[""]),
        ("homeassistant_notify", &[], &["notify.phone", "phone"], &["", "notify.", "my phone"]),
        ("pushover", &[("user", "u")], &["me", &"a1".repeat(15)], &["", "you"]),
        ("pushover", &[("token", "t")], &[&"a1".repeat(15)], &["", "me"]),
        ("signed_webhook", &[], &["ops"], &[""]),
        ("signed_webhook", &[("targets", targets), secret], &["ops"], &["", "opps", "https://h/x"]),
        ("signed_webhook", &[("any_url", "true"), secret], &["https://h/x"], &["ops", "ftp://h/x"]),
        (
            "slack",
            &[],
            &["C012AB3CD", "G1", "D1", "U1", "W1", "#general"],
            &["", "C", "general", "#", "c012"],
        ),
        ("google_chat_webhook", &[("url", "https://h.example.org/x")], &["a name of mine"], &[""]),
        (
            "wecom_webhook",
            &[("url", "ops=https://h.example.org/x")],
            &["ops"],
            &["", "opps", "https://h.example.org/x"],
        ),
        ("zulip", &[], &["general", "12", "me@example.org"], &["", " "]),
        ("slack_webhook", &[], &["a name of mine"], &[""]),
        (
            "telegram",
            &[],
            &["42", "-1001234567890", "@some_group"],
            &["", "@", "me", "@a b", "4.2"],
        ),
    ] {
        // Not every build has all of them.
        let Some(platform) = platform(name) else { continue };
        let settings = settings(platform, set);
        for chat in right {
            assert_eq!((platform.check_chat)(&settings, chat), Ok(()), "{name} {chat}");
        }
        for chat in wrong {
            assert!((platform.check_chat)(&settings, chat).is_err(), "{name} {chat:?}");
        }
    }
    for platform in PLATFORMS {
        assert!((platform.check_chat)(&Settings::default(), "").is_err(), "{}", platform.name);
    }
}
