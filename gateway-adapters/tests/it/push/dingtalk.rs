//! DingTalk, over a strict custom bot that checks signatures.

use std::time::Duration;

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAct, PushAnswer, dingtalk},
};
use kanban_notify::message::{Parcel, Span};
use serde_json::json;

use super::contract::{Answers, Subject, bench, contract, hint, parcel, to};

const TOKEN: &str = "FAKEtoken0123456789abcdef";

const SUBJECT: Subject = Subject {
    name: "dingtalk_webhook",
    server: || dingtalk(TOKEN, "SECFAKEsecret"),
    settings: &[
        ("url", "{url}/robot/send?access_token=FAKEtoken0123456789abcdef"),
        ("secret", "SECFAKEsecret"),
    ],
    secret: "FAKE",
    chat: "group",
    thread: "",
    unit: Unit::Bytes,
    limit: 19_500,
    markup: false,
    mentions: false,
    answers,
};

contract!(SUBJECT);

fn code(code: i32, words: &str) -> PushAnswer {
    PushAnswer::new(200, json!({"errcode": code, "errmsg": words}).to_string())
}

const TOO_FAST: &str = "send too fast";

fn answers() -> Answers {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let mut answers = vec![
        (code(0, "ok"), "delivered", None),
        (PushAnswer::new(200, r#"{"errcode":"0","errmsg":"ok"}"#), "delivered", None),
        (code(-1, "系统繁忙"), "busy", None),
        (PushAnswer::new(429, "").with("retry-after", "7"), "busy", seconds(7)),
        (code(45, "an error that is new"), "retryable", None),
        (PushAnswer::new(401, "{}"), "credential", None),
        (PushAnswer::new(404, "<html>"), "retryable", None),
        (PushAnswer::new(500, ""), "retryable", None),
        (PushAnswer::new(502, "<html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(200, r#"{"errmsg":"ok"}"#), "unknown", None),
    ];
    for limit in [90_030, 130_101, 410_100, 660_026] {
        answers.push((code(limit, TOO_FAST), "busy", seconds(600)));
    }
    for (number, words, verdict) in [
        (300_001, "token is not exist", "credential"),
        (300_005, "token is not exist", "credential"),
        (400_013, "群已被解散", "target"),
        (400_101, "access_token不存在", "credential"),
        (400_102, "机器人已停用", "credential"),
        (400_106, "机器人不存在", "credential"),
        (88, "鉴权异常", "credential"),
        (310_000, "sign not match", "credential"),
        (310_000, "invalid timestamp", "credential"),
        (310_000, "ip 192.0.2.1 not in whitelist", "credential"),
        (310_000, "keywords not in content", "payload"),
        (310_000, "错误描述:关键词不匹配;解决方案:请联系群管理员查看此机器人的关键词;", "payload"),
        (
            310_000,
            "错误描述:机器人发送签名不匹配;解决方案:请确认机器人的密钥填写正确;",
            "credential",
        ),
        (40_035, "不合法的参数", "payload"),
        (43_004, "无效的HTTP HEADER Content-Type", "payload"),
        (400_105, "不支持的消息类型", "payload"),
        (430_101, "含有不安全的外链", "payload"),
        (430_104, "含有不合规的内容", "payload"),
        (460_101, "message too long, exceed 20000 bytes", "payload"),
    ] {
        answers.push((code(number, words), verdict, None));
    }
    answers
}

#[tokio::test]
async fn a_bot_that_is_silenced_is_not_asked_for_ten_minutes() {
    let bench = bench(&SUBJECT).await;
    bench.server.play([PushAct::Answer(code(130_101, TOO_FAST))]);
    let first = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    assert_eq!(hint(&bench.channel.send(&first).await), Some(Duration::from_secs(600)));
    let again = bench.channel.send(&first).await;
    assert!(hint(&again).is_some_and(|wait| wait > Duration::from_secs(590)), "{again:?}");
    assert_eq!(bench.server.requests().len(), 1, "it is not asked again");
}

#[tokio::test]
async fn a_secret_that_is_wrong_or_missing_is_a_refused_credential() {
    const NONE: Subject = Subject { settings: &[SUBJECT.settings[0]], ..SUBJECT };
    const WRONG: Subject =
        Subject { settings: &[SUBJECT.settings[0], ("secret", "SECFAKEwrong")], ..SUBJECT };
    for wrong in [NONE, WRONG] {
        let bench = bench(&wrong).await;
        let first = parcel(&wrong, &*bench.channel, vec![Span::quoted("x")]);
        for verdict in [bench.channel.send(&first).await, bench.channel.probe().await] {
            assert_eq!(verdict.name(), "credential");
            assert!(verdict.detail().contains("310000 sign not match"), "{verdict:?}");
        }
    }
}

#[tokio::test]
async fn a_bot_has_no_threads() {
    let bench = bench(&SUBJECT).await;
    let first = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    let sent = Parcel { destination: to(&SUBJECT, "msg1"), ..first };
    assert_eq!(bench.channel.send(&sent).await.name(), "thread");
    assert!(bench.server.requests().is_empty());
}
