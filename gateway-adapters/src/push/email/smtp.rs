//! One session with the server, step by step, so that it is known how far each letter came.

use std::{fmt::Display, future::Future, ops::RangeInclusive, path::Path, time::Duration};

use kanban_notify::{
    ids::ChannelName,
    verdict::{Fault, Verdict},
};
use lettre::{
    Address,
    transport::smtp::{
        Error,
        authentication::{Credentials, Mechanism},
        client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters},
        commands::{Data, Mail, Rcpt, Rset},
        extension::ClientId,
        response::Response,
    },
};
use tokio::time::{Instant, timeout_at};

use crate::{
    AdapterError,
    error::NOT_SET,
    files::read_whole,
    http::{Redactor, client::has_native_roots},
    push::Settings,
};

/// The longest one letter takes; servers may look at its content for long.
const TOTAL: Duration = Duration::from_secs(120);
const CONNECT: Duration = Duration::from_secs(10);
/// Saying goodbye is polite, and changes nothing.
const GOODBYE: Duration = Duration::from_secs(2);
const PORT: u16 = 587;

const DONE: RangeInclusive<u16> = 200..=299;
const LOGGED_IN: u16 = 235;
const GO_ON: u16 = 354;

/// How far a session came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Reach,
    Login,
    Sender,
    Recipient,
    Data,
    /// The letter may have left.
    Content,
}

/// Why a letter was not accepted.
#[derive(Debug)]
pub(super) struct Failure {
    step: Step,
    /// The reply; `None` where there was none.
    code: Option<u16>,
    /// Whether we could not go on with what the server offers.
    ours: bool,
    words: String,
}

impl Failure {
    /// | step | reply | verdict |
    /// |---|---|---|
    /// | any | 421 | busy |
    /// | connecting, TLS, greeting | none | unreachable |
    /// | | 4xx; 5xx | busy; retryable |
    /// | login | 5xx, no common mechanism | permanent: credential |
    /// | | 4xx; none | busy; unreachable |
    /// | sender | 530, 534, 535, 538, 550, 551, 553 | permanent: credential (no letter of this sender is taken) |
    /// | | other 5xx | permanent: payload |
    /// | recipient | 530, 535; other 5xx | permanent: credential; target |
    /// | content | 5xx | permanent: payload |
    /// | after the content | none | unknown |
    /// | each of these but login | 4xx; none | retryable |
    pub(super) fn verdict(&self, redactor: &Redactor) -> Verdict {
        let detail = redactor.detail(&self.words);
        let permanent = |fault| Verdict::Permanent { fault, detail: detail.clone() };
        let busy = Verdict::Busy { retry_after: None, detail: detail.clone() };
        let retryable = Verdict::Retryable { retry_after: None, detail: detail.clone() };
        match (self.step, self.code) {
            (_, Some(421)) => busy,
            (Step::Login, None) if self.ours => permanent(Fault::Credential),
            (Step::Reach | Step::Login, None) => Verdict::Unreachable { detail },
            (Step::Reach | Step::Login, Some(400..=499)) => busy,
            (Step::Login, Some(_)) => permanent(Fault::Credential),
            (Step::Content, None) => Verdict::Unknown { detail },
            (Step::Sender, Some(530 | 534 | 535 | 538 | 550 | 551 | 553))
            | (Step::Recipient, Some(530 | 535)) => permanent(Fault::Credential),
            (Step::Recipient, Some(500..)) => permanent(Fault::Target),
            (Step::Sender | Step::Data | Step::Content, Some(500..)) => permanent(Fault::Payload),
            _ => retryable,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Security {
    StartTls,
    Tls,
    None,
}

/// A server, and who logs in there.
pub(super) struct Server {
    host: String,
    port: u16,
    security: Security,
    tls: TlsParameters,
    hello: ClientId,
    credentials: Option<Credentials>,
}

impl Server {
    /// The server of these settings.
    ///
    /// # Errors
    ///
    /// What cannot be used.
    pub(super) fn new(
        name: &ChannelName,
        settings: &Settings,
        from: &Address,
    ) -> Result<Self, AdapterError> {
        let refused = |field, reason| {
            AdapterError::Address { channel: name.to_string(), reason }.of_field(field)
        };
        let host = settings.text("host").ok_or_else(|| refused("host", NOT_SET))?;
        if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte)) {
            return Err(refused("host", "it is no name and no address of a host"));
        }
        let port = settings.text("port").map_or(Ok(PORT), str::parse);
        let security = match settings.text("security").unwrap_or("starttls") {
            "starttls" => Security::StartTls,
            "tls" => Security::Tls,
            "none" => Security::None,
            _ => return Err(refused("security", "it is none of starttls, tls, none")),
        };
        let password = settings.text("password");
        let is_here =
            host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        if password.is_some() && security == Security::None && !is_here {
            let reason = "with \"none\" the password would go over the network unencrypted";
            return Err(refused("security", reason));
        }
        let user = settings.text("user").unwrap_or(from.as_ref()).to_owned();
        Ok(Self {
            port: port.map_err(|_| refused("port", "it is no port: those are 1 to 65535"))?,
            security,
            tls: tls(host, settings.text("ca_file"))
                .map_err(|source| unusable(name, settings, source))?,
            hello: ClientId::default(),
            credentials: password.map(|password| Credentials::new(user, password.to_owned())),
            host: host.to_owned(),
        })
    }

    /// Hands a letter over.
    pub(super) async fn deliver(
        &self,
        from: &Address,
        to: &Address,
        letter: &[u8],
    ) -> Result<(), Failure> {
        let until = deadline();
        let mut session = self.open(until).await?;
        let handed = async {
            command(&mut session, Step::Sender, until, Mail::new(Some(from.clone()), Vec::new()))
                .await?;
            command(&mut session, Step::Recipient, until, Rcpt::new(to.clone(), Vec::new()))
                .await?;
            command(&mut session, Step::Data, until, Data).await?;
            let reply = step(Step::Content, until, session.message(letter)).await?;
            expected(Step::Content, &reply, DONE)
        };
        let handed = handed.await;
        close(session).await;
        handed
    }

    /// Logs in and names the sender, and sends nothing.
    pub(super) async fn probe(&self, from: &Address) -> Result<(), Failure> {
        let until = deadline();
        let mut session = self.open(until).await?;
        let mail = Mail::new(Some(from.clone()), Vec::new());
        let named = command(&mut session, Step::Sender, until, mail).await;
        let _ = command(&mut session, Step::Sender, until, Rset).await;
        close(session).await;
        named
    }

    async fn open(&self, until: Instant) -> Result<AsyncSmtpConnection, Failure> {
        let tls = (self.security == Security::Tls).then(|| self.tls.clone());
        let server = (self.host.as_str(), self.port);
        let connecting =
            AsyncSmtpConnection::connect_tokio1(server, Some(CONNECT), &self.hello, tls, None);
        let mut session = step(Step::Reach, until, connecting).await?;
        if self.security == Security::StartTls {
            let upgrading = session.starttls(self.tls.clone(), &self.hello);
            step(Step::Reach, until, upgrading).await?;
        }
        if let Some(credentials) = &self.credentials {
            let mechanisms = [Mechanism::Plain, Mechanism::Login];
            let reply = step(Step::Login, until, session.auth(&mechanisms, credentials)).await?;
            expected(Step::Login, &reply, LOGGED_IN..=LOGGED_IN)?;
        }
        Ok(session)
    }
}

async fn command(
    session: &mut AsyncSmtpConnection,
    at: Step,
    until: Instant,
    command: impl Display,
) -> Result<(), Failure> {
    let reply = step(at, until, session.command(command)).await?;
    expected(at, &reply, if at == Step::Data { GO_ON..=GO_ON } else { DONE })
}

/// A reply to something else, as one that was slipped in before the encryption would make it, is none.
fn expected(at: Step, reply: &Response, codes: RangeInclusive<u16>) -> Result<(), Failure> {
    let code = u16::from(reply.code());
    if codes.contains(&code) {
        return Ok(());
    }
    let words = format!("the server's reply is out of turn: {code}");
    Err(Failure { step: at, code: None, ours: false, words })
}

async fn step<T>(
    at: Step,
    until: Instant,
    act: impl Future<Output = Result<T, Error>>,
) -> Result<T, Failure> {
    match timeout_at(until, act).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(Failure {
            step: at,
            code: error.status().map(u16::from),
            ours: error.is_client(),
            words: error.to_string(),
        }),
        Err(_) => {
            let words = "no reply in time".to_owned();
            Err(Failure { step: at, code: None, ours: false, words })
        }
    }
}

async fn close(mut session: AsyncSmtpConnection) {
    if let Some(until) = Instant::now().checked_add(GOODBYE) {
        let _ = timeout_at(until, session.abort()).await;
    }
}

fn deadline() -> Instant {
    let now = Instant::now();
    now.checked_add(TOTAL).unwrap_or(now)
}

type Broken = Box<dyn std::error::Error + Send + Sync>;

/// Without certificates of our own it is TLS itself that fails.
fn unusable(name: &ChannelName, settings: &Settings, source: Broken) -> AdapterError {
    match settings.text("ca_file") {
        None => AdapterError::Tls { source },
        Some(_) => AdapterError::Setting {
            channel: name.to_string(),
            field: "ca_file".to_owned(),
            reason: format!("cannot be used: {source}"),
        },
    }
}

fn tls(host: &str, file: Option<&str>) -> Result<TlsParameters, Broken> {
    let store = match has_native_roots() {
        true => CertificateStore::Default,
        false => CertificateStore::WebpkiRoots,
    };
    let mut tls = TlsParameters::builder(host.to_owned()).certificate_store(store);
    if let Some(file) = file {
        tls = tls.add_root_certificate(Certificate::from_pem(&read_whole(Path::new(file))?)?);
    }
    Ok(tls.build_rustls()?)
}
