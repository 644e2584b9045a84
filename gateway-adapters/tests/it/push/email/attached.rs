//! Files in letters.

use gateway_adapters::receiver::push::MailAct;
use kanban_notify::{message::Span, verdict::Verdict};

use super::{LIMIT, bench, parcel_with};
use crate::push::files::{Folder, PNG};

#[tokio::test]
async fn report_43_files_are_in_the_last_letter_byte_for_byte() {
    let (server, channel) = bench().await;
    let folder = Folder::new();
    let lines = b"one\ntwo\r\n.\r\n--boundary\r\nFrom me\n\x00\xff";
    let files = folder
        .files(&[
            ("a.png", PNG),
            ("lines.txt", lines),
            ("empty.csv", b""),
            ("\u{1f600} and a rather long name that goes over several lines of a header.pdf", b"x"),
            ("evil\r\nX: 1\".txt", b"y"),
        ])
        .await;
    let total: u64 = files.iter().map(|file| file.size).sum();
    assert!(total <= channel.takes().total);
    let expected: Vec<(String, Vec<u8>)> =
        files.iter().map(|file| (file.name.clone(), std::fs::read(&file.path).unwrap())).collect();
    let words = vec![Span::ours("word ".repeat(LIMIT / 5 + 10))];
    let mut parcel = parcel_with(&*channel, "ann@example.org", words, files);
    assert!(matches!(channel.send(&parcel).await, Verdict::Part { next: 1, .. }));
    parcel.part = 1;
    assert_eq!(channel.send(&parcel).await.name(), "delivered");
    let seen = server.seen();
    assert!(seen[0].message.files.is_empty());
    let found = seen[1].message.files.iter().map(|(name, bytes)| (name.clone(), bytes.to_vec()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn report_43_a_letter_goes_without_what_is_gone_or_too_much() {
    let (server, channel) = bench().await;
    let folder = Folder::new();
    let files = folder.files(&[("a.pdf", b"one"), ("b.pdf", b"two")]).await;
    let mut parcel =
        parcel_with(&*channel, "ann@example.org", vec![Span::ours("done")], files.clone());
    std::fs::remove_file(&files[0].path).unwrap();
    assert_eq!(channel.send(&parcel).await.name(), "delivered");
    for (act, verdict) in [
        (MailAct::Say("CONTENT", "552 5.3.4 too big"), "delivered"),
        (MailAct::Say("CONTENT", "451 4.3.0 later"), "retryable"),
        (MailAct::Say("RCPT", "550 5.1.1 no such user"), "target"),
    ] {
        server.play([act]);
        assert_eq!(channel.send(&parcel).await.name(), verdict);
    }
    parcel.failures = 3;
    assert_eq!(channel.send(&parcel).await.name(), "delivered");
    let seen: Vec<(String, usize)> = server
        .seen()
        .into_iter()
        .map(|letter| (letter.message.text, letter.message.files.len()))
        .collect();
    let told = |lost: &str| format!("done\nNot attached after all: {lost}");
    assert_eq!(
        seen,
        [
            (told("a.pdf (gone or changed since)"), 1),
            (told("a.pdf (refused here), b.pdf (refused here)"), 0),
            (told("a.pdf (it failed several times), b.pdf (it failed several times)"), 0),
        ]
    );
}
