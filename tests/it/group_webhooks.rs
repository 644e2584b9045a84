//! Webhooks of chats through the whole stack: each set up by variables alone, and each message once, in order.

use gateway_adapters::receiver::push::{
    Platform, PushAct, PushAnswer, PushServer, dingtalk, feishu, google_chat, teams, wecom,
};
use serde_json::json;

use crate::support::{cards::now, wait::eventually, world::World};

struct Case {
    platform: &'static str,
    server: Platform,
    /// Lines of Hermes' file; `{url}` is where the server is.
    dotenv: &'static str,
    /// What becomes of the first requests.
    acts: Vec<PushAct>,
    /// How many requests there are then for two messages.
    requests: usize,
}

fn answer(body: serde_json::Value) -> PushAct {
    PushAct::Answer(PushAnswer::new(200, body.to_string()))
}

/// Two events of one task are told in two messages, one after the other, whatever came in between.
async fn tells_each_event_once_and_in_order(case: Case) -> Vec<String> {
    let server = PushServer::start(case.server).await.unwrap();
    let world = World::new().await;
    let dotenv = case.dotenv.replace("{url}", &server.url());
    std::fs::write(world.hermes().join(".env"), dotenv).unwrap();
    let task = world.cards.task("Build <!all> the *report*");
    let row = world.cards.subscribe(&task, case.platform, "team");
    server.play(case.acts);
    let running = world.start();
    world.cards.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at)
         VALUES ('{task}', 'blocked', '{{}}', {})",
        now()
    ));
    let last = world.cards.complete(&task, "14 pages");
    world.settled(&row, last).await;
    running.stop().await.unwrap();
    let seen = server.seen();
    assert_eq!((seen.len(), server.requests().len()), (2, case.requests), "{seen:?}");
    for (message, words) in seen.iter().zip(["is blocked", "14 pages"]) {
        let text = message.text.replace('\u{200b}', "");
        assert!(text.starts_with("Build <!all> the *report*"), "{text}");
        assert!(text.contains(words) && !text.contains("repeat"), "{text}");
    }
    let ledger = std::fs::read(world.ledger()).unwrap();
    assert!(!String::from_utf8_lossy(&ledger).contains("FAKE"));
    seen.into_iter().map(|message| message.thread).collect()
}

/// The first message was made and its answer lost: sent again under its key, it is shown once, unmarked.
#[tokio::test]
async fn d7_google_chat_shows_once_what_is_sent_twice_and_keeps_a_task_in_its_thread() {
    let threads = tells_each_event_once_and_in_order(Case {
        platform: "google_chat_webhook",
        server: google_chat("FAKEkey-0123456789", "FAKEtoken-0123456789"),
        dotenv: "GOOGLE_CHAT_WEBHOOK_URL=\"{url}/v1/spaces/AAAA/messages?key=FAKEkey-0123456789&token=FAKEtoken-0123456789\"\n",
        acts: vec![PushAct::Swallow],
        requests: 3,
    })
    .await;
    assert!(threads[0].starts_with("default/t_") && threads[0] == threads[1], "{threads:?}");
}

#[tokio::test]
async fn o5_teams_is_told_at_the_address_that_hermes_has() {
    tells_each_event_once_and_in_order(Case {
        platform: "teams_webhook",
        server: teams("FAKEsignature-0123456789"),
        dotenv: "TEAMS_INCOMING_WEBHOOK_URL=\"{url}/workflows/0a1b2c/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=FAKEsignature-0123456789\"\n",
        acts: vec![PushAct::Answer(PushAnswer::new(
            202,
            "Microsoft Teams endpoint returned HTTP error 429",
        ))],
        requests: 3,
    })
    .await;
}

#[tokio::test]
async fn d8_report_99_feishu_is_tried_again_after_limits_that_a_200_tells() {
    let limited = json!({"code": 11_232, "msg": "frequency limited", "data": {}});
    tells_each_event_once_and_in_order(Case {
        platform: "feishu_webhook",
        server: feishu("FAKEtoken-0123456789", "FAKEsecret"),
        dotenv: "FEISHU_WEBHOOK_URL={url}/open-apis/bot/v2/hook/FAKEtoken-0123456789\nFEISHU_WEBHOOK_SECRET=FAKEsecret\n",
        acts: vec![answer(limited.clone()), answer(limited)],
        requests: 4,
    })
    .await;
}

#[tokio::test]
async fn d1_dingtalk_is_sent_again_what_it_refused_with_a_200() {
    tells_each_event_once_and_in_order(Case {
        platform: "dingtalk_webhook",
        server: dingtalk("FAKEtoken-0123456789", "SECFAKE"),
        dotenv: "DINGTALK_WEBHOOK_URL={url}/robot/send?access_token=FAKEtoken-0123456789\nDINGTALK_WEBHOOK_SECRET=SECFAKE\n",
        acts: vec![answer(json!({"errcode": -1, "errmsg": "系统繁忙"}))],
        requests: 3,
    })
    .await;
}

#[tokio::test]
async fn d1_wecom_is_sent_again_what_it_refused_with_a_200() {
    tells_each_event_once_and_in_order(Case {
        platform: "wecom_webhook",
        server: wecom("FAKEkey-4d1b-a994-790f21fc8d30"),
        dotenv: "WECOM_WEBHOOK_URL={url}/cgi-bin/webhook/send?key=FAKEkey-4d1b-a994-790f21fc8d30\n",
        acts: vec![answer(json!({"errcode": -1, "errmsg": "system error"}))],
        requests: 3,
    })
    .await;
}

/// A secret that is wrong is a refusal in a 200: nothing is lost for it, and what is owed goes out once it is right.
#[tokio::test]
async fn d8_a_refused_signature_pauses_dingtalk_until_the_secret_in_the_file_is_right() {
    let server = PushServer::start(dingtalk("FAKEtoken-0123456789", "SECFAKE")).await.unwrap();
    let world = World::new().await;
    let address = format!("{}/robot/send?access_token=FAKEtoken-0123456789", server.url());
    let write = |secret| {
        let lines = format!("DINGTALK_WEBHOOK_URL={address}\nDINGTALK_WEBHOOK_SECRET={secret}\n");
        std::fs::write(world.hermes().join(".env"), lines).unwrap();
    };
    write("SECFAKEwrong");
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "dingtalk_webhook", "team");
    let running = world.start();
    let event = world.cards.complete(&task, "14 pages");
    let paused = eventually("the channel rests", || {
        let pause = world.operator().pauses().unwrap().into_iter().next();
        pause.filter(|pause| pause.credential == 1)
    })
    .await;
    for words in ["DINGTALK_WEBHOOK_URL in ", "DINGTALK_WEBHOOK_SECRET in ", "sign not match"] {
        assert!(paused.reason.contains(words), "{paused:?}");
    }
    assert!(!paused.reason.contains("FAKE"), "{paused:?}");
    write("SECFAKE");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(server.seen().len(), 1);
}
