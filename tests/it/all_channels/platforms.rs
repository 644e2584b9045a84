//! Where each platform of the list is met: its stand-in, its settings, its chats, and what a chat there may be sent.

use std::time::Duration;

use gateway_adapters::receiver::push::{
    Platform, dingtalk, discord, discord_webhook, feishu, google_chat, gotify, homeassistant,
    matrix, mattermost, ntfy, pushover, signed_webhook, slack, slack_webhook, teams, telegram,
    wecom, zulip,
};

/// One platform. `{url}` and `{port}` in a setting are where its stand-in is.
pub struct Row {
    pub name: &'static str,
    pub server: Server,
    /// Keys of its table in the configuration.
    pub settings: &'static [(&'static str, &'static str)],
    /// Where messages go; where an address decides, what the stand-in calls it.
    pub chats: &'static [&'static str],
    /// So many messages at once may go to a chat, and one more after each period; none for no limit.
    pub burst: usize,
    pub period: Duration,
    /// So many messages its limits let through in a test.
    pub most: usize,
}

/// What stands in its place.
pub enum Server {
    Http(fn() -> Platform),
    Mail,
}

const KEY: &str = "RkFLRXNlY3JldGZvcnRlc3RzLTI0Ynl0";
const SECOND: Duration = Duration::from_secs(1);
const NO_LIMIT: Duration = Duration::ZERO;

/// One row for each platform; the test names those that are missing.
pub const ROWS: &[Row] = &[
    Row {
        name: "dingtalk_webhook",
        server: Server::Http(|| dingtalk("FAKEtoken0123456789abcdef", "SECFAKEsecret")),
        settings: &[
            ("url", "{url}/robot/send?access_token=FAKEtoken0123456789abcdef"),
            ("secret", "SECFAKEsecret"),
        ],
        chats: &["group"],
        burst: 3,
        period: Duration::from_millis(4_500),
        most: 5,
    },
    Row {
        name: "discord",
        server: Server::Http(|| {
            discord(
                "MTIz.FAKE.x",
                &[
                    ("100", &[]),
                    ("101", &[]),
                    ("102", &[]),
                    ("103", &[]),
                    ("104", &[]),
                    ("105", &[]),
                    ("106", &[]),
                    ("107", &[]),
                ],
            )
        }),
        settings: &[("token", "MTIz.FAKE.x"), ("url", "{url}")],
        chats: &["100", "101", "102", "103", "104", "105", "106", "107"],
        burst: 5,
        period: SECOND,
        most: 120,
    },
    Row {
        name: "discord_webhook",
        server: Server::Http(|| discord_webhook("FAKEhook", &[])),
        settings: &[("url", "{url}/api/webhooks/200/FAKEhook")],
        chats: &["100"],
        burst: 5,
        period: SECOND,
        most: 15,
    },
    Row {
        name: "email",
        server: Server::Mail,
        settings: &[
            ("host", "127.0.0.1"),
            ("port", "{port}"),
            ("address", "kanban@example.org"),
            ("password", "FAKE-password"),
            ("security", "none"),
        ],
        chats: &["ann@example.org", "bob@example.org", "eve@example.org"],
        burst: 0,
        period: NO_LIMIT,
        most: 250,
    },
    Row {
        name: "feishu_webhook",
        server: Server::Http(|| feishu("FAKEtoken-4d1b-a994-790f21fc8d30", "FAKEsecret")),
        settings: &[
            ("url", "{url}/open-apis/bot/v2/hook/FAKEtoken-4d1b-a994-790f21fc8d30"),
            ("secret", "FAKEsecret"),
        ],
        chats: &["group"],
        burst: 4,
        period: Duration::from_millis(650),
        most: 18,
    },
    Row {
        name: "google_chat_webhook",
        server: Server::Http(|| google_chat("AIzaFAKEkeyFAKEkeyFAKE", "FAKEtokenFAKEtokenFAKE=")),
        settings: &[(
            "url",
            "{url}/v1/spaces/AAAA/messages?key=AIzaFAKEkeyFAKEkeyFAKE&token=FAKEtokenFAKEtokenFAKE%3D",
        )],
        chats: &["AAAA"],
        burst: 3,
        period: SECOND,
        most: 12,
    },
    Row {
        name: "gotify",
        server: Server::Http(|| gotify("AFAKEtoken")),
        settings: &[("token", "AFAKEtoken"), ("url", "{url}")],
        chats: &["app"],
        burst: 30,
        period: Duration::from_millis(100),
        most: 120,
    },
    Row {
        name: "homeassistant",
        server: Server::Http(|| homeassistant("eyJ.FAKE.x", "mobile_app_ann")),
        settings: &[("token", "eyJ.FAKE.x"), ("url", "{url}")],
        chats: &["panel"],
        burst: 20,
        period: Duration::from_millis(100),
        most: 120,
    },
    Row {
        name: "homeassistant_notify",
        server: Server::Http(|| homeassistant("eyJ.FAKE.x", "mobile_app_ann")),
        settings: &[("token", "eyJ.FAKE.x"), ("url", "{url}")],
        chats: &["mobile_app_ann"],
        burst: 20,
        period: Duration::from_millis(100),
        most: 120,
    },
    Row {
        name: "matrix",
        server: Server::Http(|| matrix("syt_FAKE", "FAKEpassword")),
        settings: &[("token", "syt_FAKE"), ("url", "{url}")],
        chats: &["!a:localhost", "!b:localhost", "!c:localhost", "!d:localhost"],
        burst: 10,
        period: Duration::from_millis(200),
        most: 140,
    },
    Row {
        name: "mattermost",
        server: Server::Http(|| mattermost("fake7token")),
        settings: &[("token", "fake7token"), ("url", "{url}")],
        chats: &[
            "jhfo4nugmtfbudihd6wx1nfpoa",
            "jhfo4nugmtfbudihd6wx1nfpob",
            "jhfo4nugmtfbudihd6wx1nfpoc",
            "jhfo4nugmtfbudihd6wx1nfpod",
        ],
        burst: 20,
        period: Duration::from_millis(100),
        most: 170,
    },
    Row {
        name: "ntfy",
        server: Server::Http(|| ntfy("Bearer tk_FAKEtoken")),
        settings: &[("token", "tk_FAKEtoken"), ("url", "{url}")],
        chats: &["kanban", "builds", "reports"],
        burst: 60,
        period: Duration::from_secs(5),
        most: 55,
    },
    Row {
        name: "pushover",
        server: Server::Http(|| pushover("aFAKEtoken", "uQiRzpo4DXghDmr9QzzfQu27cmVRsG")),
        settings: &[("token", "aFAKEtoken"), ("url", "{url}")],
        chats: &["uQiRzpo4DXghDmr9QzzfQu27cmVRsG"],
        burst: 2,
        period: Duration::from_millis(500),
        most: 20,
    },
    Row {
        name: "signed_webhook",
        server: Server::Http(|| signed_webhook(KEY)),
        settings: &[
            ("targets", "ops={url}/a,ci={url}/b,web={url}/c"),
            ("secret", "whsec_RkFLRXNlY3JldGZvcnRlc3RzLTI0Ynl0"),
            ("allow_private", "127.0.0.1"),
        ],
        chats: &["ops", "ci", "web"],
        burst: 30,
        period: Duration::from_millis(50),
        most: 250,
    },
    Row {
        name: "slack",
        server: Server::Http(|| slack(&[("xoxb-FAKE", &["C1", "C2", "C3", "C4", "C5", "C6"])])),
        settings: &[("token", "xoxb-FAKE"), ("url", "{url}")],
        chats: &["C1", "C2", "C3", "C4", "C5", "C6"],
        burst: 3,
        period: SECOND,
        most: 80,
    },
    Row {
        name: "slack_webhook",
        server: Server::Http(|| slack_webhook("/services/T0/B0/FAKEhook")),
        settings: &[("url", "{url}/services/T0/B0/FAKEhook")],
        chats: &["C1"],
        burst: 3,
        period: SECOND,
        most: 12,
    },
    Row {
        name: "teams_webhook",
        server: Server::Http(|| teams("FAKE-signature_FAKE-signature_FAKE")),
        settings: &[(
            "url",
            "{url}/workflows/0a1b2c/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=FAKE-signature_FAKE-signature_FAKE",
        )],
        chats: &["the workflow's"],
        burst: 3,
        period: Duration::from_millis(500),
        most: 20,
    },
    Row {
        name: "telegram",
        server: Server::Http(|| telegram("123456:FAKE")),
        settings: &[("token", "123456:FAKE"), ("url", "{url}")],
        chats: &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"],
        burst: 5,
        period: SECOND,
        most: 150,
    },
    Row {
        name: "wecom_webhook",
        server: Server::Http(|| wecom("73febdcb-FAKE-4d1b-FAKE-790f21fc8d30")),
        settings: &[("url", "{url}/cgi-bin/webhook/send?key=73febdcb-FAKE-4d1b-FAKE-790f21fc8d30")],
        chats: &["group"],
        burst: 3,
        period: Duration::from_millis(4_500),
        most: 5,
    },
    Row {
        name: "zulip",
        server: Server::Http(|| zulip("kanban-bot@example.org", "aFAKEkeyfortests")),
        settings: &[
            ("email", "kanban-bot@example.org"),
            ("api_key", "aFAKEkeyfortests"),
            ("url", "{url}"),
        ],
        chats: &["ops"],
        burst: 20,
        period: Duration::from_millis(300),
        most: 60,
    },
];
