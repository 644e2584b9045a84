//! Mattermost, over a strict server: by the API, and by a webhook.

use std::time::Duration;

use gateway_adapters::{
    http::{HttpClient, HttpClientConfig},
    push::{Settings, platform, split::Unit},
    receiver::push::{PushAct, PushAnswer, mattermost, mattermost_hook},
};
use kanban_notify::message::{Destination, Parcel, Span};
use serde_json::{Value, json};

use super::{
    contract::{self, Answers, Subject, bench, contract, parcel, to},
    files::{self, Carrier, Folder, file_contract},
};

const TOKEN: &str = "fake7tokenfortests";
const KEY: &str = "fake7keyfortests";

const SUBJECT: Subject = Subject {
    name: "mattermost",
    server: || mattermost(TOKEN),
    settings: &[("token", TOKEN)],
    secret: "fake7",
    chat: "jhfo4nugmtfbudihd6wx1nfpoe",
    thread: "m6mcfxpgttgfumbn4abkmmz4sr",
    unit: Unit::Chars,
    limit: 16_382,
    markup: true,
    mentions: true,
    answers,
};

contract!(SUBJECT);

const CARRIER: Carrier = Carrier {
    subject: SUBJECT,
    refused: || error(413, "api.file.upload_file.too_large_detailed.app_error"),
    tries: 1,
    steps: 2,
};

file_contract!(CARRIER);

/// A webhook has no threads, and goes before a token.
const HOOK: Subject = Subject {
    server: || mattermost_hook(KEY),
    settings: &[("token", TOKEN), ("webhook", KEY)],
    secret: KEY,
    chat: "town-square",
    thread: "",
    answers: hook_answers,
    ..SUBJECT
};

mod hook {
    use super::{HOOK, contract};

    contract!(HOOK);
}

fn error(status: u16, id: &str) -> PushAnswer {
    let body = json!({"id": id, "message": "as the server says", "status_code": status});
    PushAnswer::new(status, body.to_string())
}

fn common() -> Answers {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let limit = || PushAnswer::new(429, "limit exceeded\n");
    vec![
        (limit().with("retry-after", "7"), "busy", seconds(7)),
        (limit(), "busy", None),
        (limit().with("x-ratelimit-reset", "30"), "busy", seconds(30)),
        (limit().with("x-ratelimit-reset", "3").with("retry-after", "9"), "busy", seconds(9)),
        (limit().with("x-ratelimit-reset", "soon"), "busy", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(200, ""), "unknown", None),
        (PushAnswer::new(302, "").with("location", "https://example.org/"), "retryable", None),
        (PushAnswer::new(403, "<html>a proxy</html>"), "credential", None),
        (PushAnswer::new(404, "<html>Page not found</html>"), "retryable", None),
        (PushAnswer::new(413, ""), "payload", None),
        (PushAnswer::new(500, "{}"), "retryable", None),
        (PushAnswer::new(502, "<html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(504, ""), "unknown", None),
        (error(401, "api.context.session_expired.app_error"), "credential", None),
        (error(404, "app.channel.get.existing.app_error"), "target", None),
        (error(400, "api.post.create_post.can_not_post_to_deleted.error"), "target", None),
        (error(400, "model.post.is_valid.message_length.app_error"), "payload", None),
    ]
}

fn answers() -> Answers {
    let mut answers = common();
    for (status, id, verdict) in [
        (201, "", "unknown"),
        (403, "api.context.permissions.app_error", "target"),
        (404, "app.user.missing_account.const", "credential"),
        (404, "api.context.404.app_error", "retryable"),
        (400, "api.context.invalid_param.app_error", "target"),
        (400, "model.post.is_valid.channel_id.app_error", "target"),
        (400, "api.post.create_post.can_not_post_in_restricted_dm.error", "target"),
        (400, "api.post.create_post.town_square_read_only", "target"),
        (400, "api.post.create_post.root_id.app_error", "thread"),
        (400, "api.post.create_post.channel_root_id.app_error", "thread"),
        (500, "api.post.create_post.channel_root_id.app_error", "thread"),
        (400, "model.post.is_valid.root_id.app_error", "thread"),
        (500, "api.post.deduplicate_create_post.pending", "busy"),
        (500, "app.post.save.app_error", "retryable"),
    ] {
        answers.push((error(status, id), verdict, None));
    }
    answers
}

fn hook_answers() -> Answers {
    let mut answers = common();
    for (status, id, verdict) in [
        (400, "web.incoming_webhook.invalid.app_error", "credential"),
        (501, "web.incoming_webhook.disabled.app_error", "credential"),
        (403, "web.incoming_webhook.user.app_error", "credential"),
        (400, "web.incoming_webhook.user.app_error", "target"),
        (404, "web.incoming_webhook.channel.app_error", "target"),
        (500, "web.incoming_webhook.channel.app_error", "retryable"),
        (403, "web.incoming_webhook.channel_locked.app_error", "target"),
        (403, "web.incoming_webhook.permissions.app_error", "target"),
        (400, "web.incoming_webhook.text.app_error", "payload"),
    ] {
        answers.push((error(status, id), verdict, None));
    }
    answers
}

#[tokio::test]
async fn report_143_long_texts_go_in_parts_also_where_less_is_allowed() {
    for (settings, most, parts) in [
        (&[("token", TOKEN)][..], 16_383, 2),
        (&[("token", TOKEN), ("max_length", "4000")][..], 4_000, 5),
    ] {
        let subject = Subject { settings, ..SUBJECT };
        let bench = bench(&subject).await;
        let text = "word ".repeat(3_400);
        let mut sent = parcel(&subject, &*bench.channel, vec![Span::quoted(&text)]);
        while bench.channel.send(&sent).await.name() == "part" {
            sent.part += 1;
        }
        let seen = bench.server.seen();
        assert_eq!(seen.len(), parts);
        assert!(seen.iter().all(|message| message.text.chars().count() <= most));
        let whole = parcel(&subject, &*bench.channel, vec![Span::quoted("x".repeat(most))]);
        bench.channel.send(&whole).await;
        for request in bench.server.requests() {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            assert!(body["message"].as_str().unwrap().chars().count() <= most);
        }
        let told: Vec<&str> = seen.iter().flat_map(|one| one.text.split_whitespace()).collect();
        assert_eq!(told.len(), 3_400);
    }
}

#[tokio::test]
async fn report_77_a_title_calls_nobody_by_either_way() {
    for subject in [SUBJECT, HOOK] {
        let bench = bench(&subject).await;
        let title = "<!channel> @all @everyone <@&123> <https://example.org|click> ~town-square";
        let spans = vec![Span::quoted(title), Span::ours(" is done.\n- ok")];
        bench.channel.send(&parcel(&subject, &*bench.channel, spans)).await;
        let seen = &bench.server.seen()[0];
        assert_eq!(seen.text.replace('\u{200b}', ""), format!("{title} is done.\n- ok"));
        assert!(!seen.text.contains("@all"), "{seen:?}");
    }
}

#[tokio::test]
async fn a_message_and_each_part_have_a_key_that_stays() {
    let bench = bench(&SUBJECT).await;
    let long = vec![Span::quoted("word ".repeat(5_000))];
    let mut sent = parcel(&SUBJECT, &*bench.channel, long);
    bench.server.play([PushAct::Swallow]);
    for part in [0, 0, 1] {
        sent.part = part;
        bench.channel.send(&sent).await;
    }
    let keys: Vec<String> = bench.server.seen().into_iter().map(|message| message.key).collect();
    assert_eq!(keys, ["kgw-1", "kgw-1/1"], "each is shown once");
    let sent: Vec<_> = bench.server.requests().into_iter().map(|heard| heard.body).collect();
    assert_eq!(sent.len(), 3);
    assert_eq!(sent[0], sent[1], "the same again");
}

#[tokio::test]
async fn what_is_no_channel_or_no_thread_is_not_sent() {
    let api = bench(&SUBJECT).await;
    let sent = parcel(&SUBJECT, &*api.channel, vec![Span::quoted("x")]);
    for channel in ["", "town-square", "jhfo4nugmtfbudihd6wx1nfpo/"] {
        let mut sent = sent.clone();
        if let Destination::Chat { chat, .. } = &mut sent.destination {
            *chat = channel.to_owned();
        }
        assert_eq!(api.channel.send(&sent).await.name(), "target", "{channel:?}");
    }
    let lost = Parcel { destination: to(&SUBJECT, "42"), ..sent };
    assert_eq!(api.channel.send(&lost).await.name(), "thread");
    let hook = bench(&HOOK).await;
    let sent = parcel(&HOOK, &*hook.channel, vec![Span::quoted("x")]);
    let lost = Parcel { destination: to(&HOOK, SUBJECT.thread), ..sent };
    assert_eq!(hook.channel.send(&lost).await.name(), "thread");
    assert!(api.server.requests().is_empty() && hook.server.requests().is_empty());
}

/// The address of a webhook is a secret, with or without what is before its key.
#[tokio::test]
async fn report_108_a_webhook_is_taken_by_its_address_and_told_nowhere() {
    let bench = bench(&HOOK).await;
    let client = HttpClient::new(&HttpClientConfig::default()).unwrap();
    let mattermost = platform("mattermost").unwrap();
    let channel = |address: &str| {
        let mut settings = Settings::default();
        let field = mattermost.fields.iter().find(|field| field.name == "webhook").unwrap();
        settings.set(field, address);
        (mattermost.make)(client.clone(), &settings)
    };
    let address = format!("{}/hooks/{KEY}", bench.server.url());
    let sent = parcel(&HOOK, &*bench.channel, vec![Span::quoted("x")]);
    for address in [address.clone(), format!("{address}/")] {
        assert_eq!(channel(&address).unwrap().send(&sent).await.name(), "delivered");
    }
    bench.server.play([PushAct::Answer(error(400, &format!("no webhook {KEY} at {address}")))]);
    let verdict = channel(&address).unwrap().send(&sent).await;
    assert!(!format!("{verdict:?}").contains("fake7"), "{verdict:?}");
    let wrong = channel(&format!("{address}x")).unwrap();
    assert_eq!(wrong.send(&sent).await.name(), "credential");
    assert_eq!(wrong.probe().await.name(), "credential");
    for address in
        [format!("{address}?x=1"), "https://u:fake7@h/hooks/k".into(), KEY.into(), "a/b".into()]
    {
        let error = channel(&address).err().map(|error| format!("{error} {error:?}"));
        assert!(error.is_some_and(|error| !error.contains("fake7")), "{address}");
    }
}

#[tokio::test]
async fn what_stands_out_is_bold_and_the_rest_is_as_it_was_written() {
    let bench = bench(&SUBJECT).await;
    let spans = vec![Span::quoted("# a_b"), Span::ours(" is done: https://example.org/c-d#e")];
    let sent = parcel(&SUBJECT, &*bench.channel, spans);
    bench.channel.send(&sent).await;
    let body: Value = serde_json::from_slice(&bench.server.requests()[0].body).unwrap();
    assert_eq!(body["message"], "**# a\\_b** is done: https://example.org/c-d#e");
    bench.channel.send(&Parcel { plain: true, ..sent }).await;
    let body: Value = serde_json::from_slice(&bench.server.requests()[1].body).unwrap();
    assert_eq!(body["message"], "\u{200b}# a\\_b is done: https://example.org/c-d#e");
}

#[tokio::test]
async fn files_are_kept_first_and_then_shown_by_one_post() {
    let (bench, folder) = (bench(&SUBJECT).await, Folder::new());
    let checked = folder.files(&[("- a_b.txt", b"x"), ("c.txt", b"y")]).await;
    let parcel = Parcel { part: 1, ..files::parcel(&CARRIER, &bench, checked) };
    for (before, act, verdict) in [
        (0, PushAct::Lose, "retryable"),
        (1, PushAct::Answer(PushAnswer::new(502, "")), "retryable"),
        (2, PushAct::Answer(PushAnswer::new(502, "")), "unknown"),
        (0, PushAct::Answer(error(401, "api.context.session_expired.app_error")), "credential"),
        // Switched off, or not allowed: the post says so.
        (0, PushAct::Answer(error(501, "api.file.attachments.disabled.app_error")), "delivered"),
        (0, PushAct::Answer(error(403, "api.context.permissions.app_error")), "delivered"),
    ] {
        let honest = std::iter::repeat_n(PushAct::Honest, before);
        bench.server.play(honest.chain([act]));
        assert_eq!(bench.channel.send(&parcel).await.name(), verdict);
    }
    assert_eq!(bench.channel.send(&parcel).await.name(), "delivered");
    // A webhook takes none.
    let hook = contract::bench(&HOOK).await;
    assert_eq!(hook.channel.takes(), kanban_notify::artifacts::Takes::NOTHING);
}
