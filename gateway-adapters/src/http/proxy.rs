//! Proxies: which requests go through one, and how they do.

use std::{
    error::Error,
    fmt, io,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use ::http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{
    client::{
        legacy::connect::{Connected, Connection, HttpConnector, proxy::Tunnel},
        proxy::matcher::{Intercept, Matcher},
    },
    rt::TokioIo,
};
use tokio::net::TcpStream;
use tower_service::Service;

use super::guard::Resolver;
use crate::AdapterError;

/// The proxies of the environment. Shows no password.
#[derive(Clone, Debug, Default)]
pub struct Proxies(Option<Arc<Matcher>>);

/// The variables by what they are for; the first that is set counts.
const HTTPS: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];
const HTTP: [&str; 2] = ["HTTP_PROXY", "http_proxy"];
const ALL: [&str; 2] = ["ALL_PROXY", "all_proxy"];
const NO: [&str; 2] = ["NO_PROXY", "no_proxy"];

impl Proxies {
    /// The proxies that these variables name: `variable` answers the value of one that is set.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Proxy`] for a value that is no proxy, or one that is not spoken to.
    pub fn new<'v>(variable: impl Fn(&str) -> Option<&'v str>) -> Result<Self, AdapterError> {
        let set = |names: [&'static str; 2]| {
            let set = |name| variable(name).map(str::trim).filter(|value| !value.is_empty());
            names.into_iter().find_map(|name| Some((name, set(name)?)))
        };
        let mut values = Vec::new();
        for names in [HTTPS, HTTP, ALL] {
            // For whatever has no proxy of its own.
            let is_used = names != ALL || values.iter().any(|value: &&str| value.is_empty());
            let value = set(names).filter(|_| is_used).map(|(name, value)| {
                let checked = check(value);
                let refused = |reason| AdapterError::Proxy { variable: name.to_owned(), reason };
                checked.map(|()| value).map_err(refused)
            });
            values.push(value.transpose()?.unwrap_or_default());
        }
        if values.iter().all(|value| value.is_empty()) {
            return Ok(Self::default());
        }
        let no = direct(set(NO).map(|(_, value)| value).unwrap_or_default());
        let mut values = values.into_iter().map(str::to_owned);
        let mut next = || values.next().unwrap_or_default();
        let builder = Matcher::builder().https(next()).http(next()).all(next());
        Ok(Self(Some(Arc::new(builder.no(no).build()))))
    }

    /// The proxy for an address; `None` where it is called directly, as this machine always is.
    fn of(&self, uri: &Uri) -> Option<Intercept> {
        let matcher = self.0.as_ref()?;
        if uri.host().is_none_or(is_this_machine) { None } else { matcher.intercept(uri) }
    }

    /// The proxy's host and port, where there is one for an address.
    pub(super) fn name(&self, uri: &Uri) -> Option<String> {
        self.of(uri).map(|proxy| name(&proxy))
    }

    /// What a request has to carry for the proxy that hands it on. What goes through a tunnel carries
    /// nothing: the proxy was told when it was made.
    pub(super) fn authorization(&self, uri: &Uri) -> Option<HeaderValue> {
        let handed_on = uri.scheme_str() == Some("http");
        self.of(uri).filter(|_| handed_on)?.basic_auth().cloned()
    }
}

/// What is called directly, in the one form that the matcher reads: others write `*.corp` for all below it, and
/// blanks between names. Read as no name, it would be called through the proxy.
fn direct(no: &str) -> String {
    let names = no.split([',', ' ', '\t']).filter(|name| !name.is_empty());
    let names =
        names.map(|name| if name.starts_with("*.") { name.trim_start_matches('*') } else { name });
    names.collect::<Vec<_>>().join(",")
}

/// What is wrong with a proxy's address, in words that name no part of it.
fn check(value: &str) -> Result<(), &'static str> {
    let uri: Uri = value.parse().map_err(|_| "it is no address of a proxy")?;
    if !matches!(uri.scheme_str(), None | Some("http" | "https")) {
        return Err("it is none of http:// or https://");
    }
    let authority = uri.authority().ok_or("it has no host")?;
    let (user, place) = authority.as_str().rsplit_once('@').unwrap_or(("", authority.as_str()));
    if user.contains('@') {
        return Err("an @ in a name or password is written as %40");
    }
    if authority.host().is_empty() {
        return Err("it has no host");
    }
    let is_number = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    match place.rsplit_once(':') {
        Some((_, port)) if !place.ends_with(']') && !is_number(port) => Err("its port is none"),
        _ => Ok(()),
    }
}

fn is_this_machine(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Connects directly, or through the proxy for an address. The proxy resolves the name then.
#[derive(Clone)]
pub(super) struct Route {
    tcp: HttpConnector<Resolver>,
    proxy: HttpsConnector<HttpConnector<Resolver>>,
    proxies: Proxies,
}

impl Route {
    /// `proxy` is the way to the proxies themselves.
    pub(super) fn new(
        tcp: HttpConnector<Resolver>,
        proxy: HttpsConnector<HttpConnector<Resolver>>,
        proxies: Proxies,
    ) -> Self {
        Self { tcp, proxy, proxies }
    }
}

/// How the words on a request begin that failed at a proxy; its host and port follow.
pub const PROXY: &str = "the proxy ";
/// The words on a proxy that wants a name and a password, or others.
pub const PROXY_LOGIN: &str = "proxy authorization required";

fn name(proxy: &Intercept) -> String {
    proxy.uri().authority().map(ToString::to_string).unwrap_or_default()
}

type BoxError = Box<dyn Error + Send + Sync>;

/// A step of the way through a proxy failed: nothing was sent.
#[derive(Debug, thiserror::Error)]
#[error("{PROXY}{proxy}")]
struct ProxyError {
    proxy: String,
    #[source]
    source: BoxError,
}

impl Service<Uri> for Route {
    type Response = Way;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Way, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let Some(proxy) = self.proxies.of(&to) else {
            let connecting = self.tcp.call(to);
            return Box::pin(async move {
                let stream = MaybeHttpsStream::Http(connecting.await?);
                Ok(Way { stream, handed_on: false })
            });
        };
        let name = name(&proxy);
        let failed = |source| ProxyError { proxy: name, source };
        if to.scheme_str() == Some("https") {
            let tunnel = Tunnel::new(proxy.uri().clone(), self.proxy.clone());
            let mut tunnel = match proxy.basic_auth() {
                Some(authorization) => tunnel.with_auth(authorization.clone()),
                None => tunnel,
            };
            let connecting = tunnel.call(to);
            return Box::pin(async move {
                let stream = connecting.await.map_err(|error| failed(error.into()))?;
                Ok(Way { stream, handed_on: false })
            });
        }
        let connecting = self.proxy.call(proxy.uri().clone());
        Box::pin(async move {
            let stream = connecting.await.map_err(failed)?;
            Ok(Way { stream, handed_on: true })
        })
    }
}

/// A connection to a server, or to a proxy that hands requests on and is told their whole address.
pub(super) struct Way {
    stream: MaybeHttpsStream<TokioIo<TcpStream>>,
    handed_on: bool,
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Way").field("handed_on", &self.handed_on).finish_non_exhaustive()
    }
}

impl Connection for Way {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.handed_on)
    }
}

impl Read for Way {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Way {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(set: &[(&str, &'static str)]) -> Result<Proxies, AdapterError> {
        Proxies::new(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
    }

    fn way(proxies: &Proxies, to: &str) -> String {
        let proxy = proxies.of(&to.parse().unwrap());
        proxy.map(|proxy| proxy.uri().to_string()).unwrap_or_default()
    }

    #[test]
    fn report_142_this_machine_and_what_no_proxy_names_are_called_directly() {
        let set = [
            ("HTTPS_PROXY", "http://walker:pw-83b1e0@p.example:3128"),
            ("https_proxy", "http://other.example"),
            ("http_proxy", "q.example:8080"),
            ("NO_PROXY", "example.org, 10.0.0.0/8,.corp *.lan"),
        ];
        let some = proxies(&set).unwrap();
        for (to, by) in [
            ("https://api.telegram.org/x", "http://p.example:3128/"),
            ("http://chat.example/x", "http://q.example:8080/"),
            ("https://example.org", ""),
            ("https://a.example.org", ""),
            ("https://notexample.org", "http://p.example:3128/"),
            ("https://10.1.2.3", ""),
            ("https://a.corp", ""),
            ("https://a.lan", ""),
            ("http://B.A.LAN", ""),
            ("http://alan", "http://q.example:8080/"),
            ("http://127.0.0.1:8642", ""),
            ("http://localhost:8642", ""),
            ("http://[::1]:8642", ""),
            ("http://[::ffff:127.0.0.1]:8642", ""),
        ] {
            assert_eq!(way(&some, to), by, "{to}");
        }
        assert!(!format!("{some:?}").contains("pw-83b1e0"));
        // Only where the proxy is told with each request.
        assert_eq!(some.authorization(&"https://a.example".parse().unwrap()), None);
        let all = proxies(&[("all_proxy", "https://u:p@p.example")]).unwrap();
        assert_eq!(way(&all, "https://a.example"), "https://p.example/");
        let told = all.authorization(&"http://a.example".parse().unwrap()).unwrap();
        assert!(told.is_sensitive() && told == "Basic dTpw");
    }

    #[test]
    fn report_142_what_is_empty_names_no_proxy() {
        for set in [&[][..], &[("HTTPS_PROXY", ""), ("ALL_PROXY", " ")], &[("NO_PROXY", "*")]] {
            assert!(proxies(set).unwrap().0.is_none(), "{set:?}");
        }
        let off = proxies(&[("ALL_PROXY", "http://p.example"), ("NO_PROXY", "*")]).unwrap();
        assert_eq!(way(&off, "https://a.example"), "");
        let empty = proxies(&[("HTTPS_PROXY", ""), ("https_proxy", "http://p.example")]).unwrap();
        assert_eq!(way(&empty, "https://a.example"), "http://p.example/");
        let unused = [("HTTPS_PROXY", "p"), ("HTTP_PROXY", "p"), ("ALL_PROXY", "socks5://p")];
        assert!(proxies(&unused).is_ok());
    }

    #[test]
    fn report_142_what_is_no_proxy_is_refused_by_its_variable_and_not_repeated() {
        for value in [
            "http://",
            "http:// pw-83b1e0",
            "socks5://walker:pw-83b1e0@h:1080",
            "ftp://pw-83b1e0",
            "http://walker:pw-83b1e0@x@h:1",
            "http://h:pw-83b1e0",
            "http://h:0",
            "http://h:99999",
            "/pw-83b1e0",
        ] {
            for variable in ["HTTPS_PROXY", "http_proxy", "ALL_PROXY"] {
                let refused = proxies(&[(variable, value)]).unwrap_err();
                let told = format!("{refused} {refused:?}");
                assert!(told.contains(variable) && !told.contains("83b1e0"), "{told}");
            }
        }
        for value in ["p", "p:3128", "http://[::1]:3128", "http://[::1]", "https://u:p%40@h/path"] {
            assert!(proxies(&[("ALL_PROXY", value)]).is_ok(), "{value}");
        }
    }
}
