//! The contract where one letter is one session of SMTP.

use gateway_adapters::receiver::push::MailAct;
use kanban_notify::{message::Span, verdict::Verdict};

use super::{bench, parcel};

pub async fn a_lost_answer_is_in_doubt() {
    let (server, channel) = bench().await;
    let parcel = parcel(&*channel, "ann@example.org", vec![Span::quoted("x")]);
    server.play([MailAct::Lose("CONTENT"), MailAct::Swallow]);
    for _ in 0..2 {
        assert_eq!(channel.send(&parcel).await.name(), "unknown");
    }
    drop(server);
    let met = channel.send(&parcel).await;
    assert_eq!(met.name(), "unreachable");
    assert!(!format!("{met:?}").contains("FAKE"), "{met:?}");
}

/// Until the letter is whole, nothing has been done with it.
pub async fn only_the_end_of_a_letter_is_in_doubt() {
    for (step, verdict) in [
        ("CONNECT", "unreachable"),
        ("AUTH", "unreachable"),
        ("MAIL", "retryable"),
        ("DATA", "retryable"),
        ("CONTENT", "unknown"),
    ] {
        let (server, channel) = bench().await;
        server.play([MailAct::Lose(step)]);
        let parcel = parcel(&*channel, "ann@example.org", vec![Span::quoted("x")]);
        assert_eq!(channel.send(&parcel).await.name(), verdict, "{step}");
        assert_eq!(server.sessions(), 1, "it is never sent twice");
    }
}

/// SMTP has no word for how long.
pub async fn a_server_that_is_busy_tells_no_time() {
    let (server, channel) = bench().await;
    server.play([MailAct::Say("MAIL", "421 4.7.0 try again in 1000 seconds")]);
    let parcel = parcel(&*channel, "ann@example.org", vec![Span::quoted("x")]);
    let met = channel.send(&parcel).await;
    assert!(matches!(met, Verdict::Busy { retry_after: None, .. }), "{met:?}");
    assert_eq!(channel.send(&parcel).await.name(), "delivered");
}

pub async fn replies_are_told_short() {
    let line = "550-FAKE-password forged \u{1b}[31m\r\n";
    let flood: &'static str = format!("{}550 end", line.repeat(100)).leak();
    for reply in [flood, "550 FAKE-password", "554 AGthbmJhbkBleGFtcGxlLm9yZwBGQUtFLXBhc3N3b3Jk"] {
        for step in ["CONNECT", "AUTH", "MAIL", "RCPT", "DATA", "CONTENT"] {
            let (server, channel) = bench().await;
            server.play([MailAct::Say(step, reply)]);
            let parcel = parcel(&*channel, "ann@example.org", vec![Span::quoted("x")]);
            let met = channel.send(&parcel).await;
            let told = format!("{met:?}");
            assert!(!told.contains("FAKE") && !told.contains("BGQUtF"), "{step}: {met:?}");
            let detail = met.detail();
            assert!(!detail.is_empty() && detail.chars().count() <= 400, "{step}: {met:?}");
            assert!(!detail.chars().any(char::is_control), "{step}: {met:?}");
        }
    }
}

pub async fn each_letter_has_a_session_of_its_own() {
    let (server, channel) = bench().await;
    server.play([MailAct::Honest, MailAct::Say("CONTENT", "554 5.7.1 no"), MailAct::Honest]);
    let parcel = parcel(&*channel, "ann@example.org", vec![Span::quoted("x")]);
    for verdict in ["delivered", "payload", "delivered"] {
        assert_eq!(channel.send(&parcel).await.name(), verdict);
    }
    assert_eq!((server.sessions(), server.seen().len()), (3, 2));
}

pub async fn there_is_no_markup() {
    let (server, channel) = bench().await;
    let mut parcel = parcel(&*channel, "ann@example.org", vec![Span::quoted("*x* <b>")]);
    for plain in [false, true] {
        parcel.plain = plain;
        assert_eq!(channel.send(&parcel).await.name(), "delivered");
    }
    let texts = server.seen().into_iter().map(|letter| letter.message.text);
    assert_eq!(texts.collect::<Vec<_>>(), ["*x* <b>", "*x* <b>"]);
}

pub async fn another_address_in_a_reply_is_not_written_to() {
    let (server, channel) = bench().await;
    server.play([MailAct::Say("RCPT", "551 5.1.6 not here; try <eve@example.org>")]);
    let parcel = parcel(&*channel, "ann@example.org", vec![Span::quoted("x")]);
    assert_eq!(channel.send(&parcel).await.name(), "target");
    assert_eq!((server.sessions(), server.seen().len()), (1, 0));
}
