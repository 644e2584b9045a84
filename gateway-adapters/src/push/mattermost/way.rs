//! The two ways into Mattermost: its API, and an incoming webhook.

use ::http::{HeaderValue, Method, Request, Uri, header};
use bytes::Bytes;
use kanban_notify::{
    ids::ChannelName,
    verdict::{Fault, Verdict},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use crate::{
    AdapterError,
    files::{
        OpenFile,
        stream::{FileBody, Piece},
    },
    http::base::{base, route, segment},
    push::{
        Settings,
        attach::content_type,
        call::{Answer, authorized, bearer, get, post_json, set},
        pin::{Next, unfit},
    },
};

/// A way in. There is no `Debug`: the address of a webhook is a secret.
pub enum Way {
    /// By the API, as a bot.
    Api {
        /// Where posts are made.
        posts: Uri,
        /// Who the token belongs to.
        me: Uri,
        /// Where files are kept.
        files: String,
        /// The token.
        authorization: HeaderValue,
    },
    /// By an incoming webhook.
    Hook(Uri),
}

impl Way {
    /// The way that is set, and what must never be told of it.
    ///
    /// # Errors
    ///
    /// [`AdapterError`], where something is missing or cannot be used.
    pub fn new(
        name: &ChannelName,
        settings: &Settings,
    ) -> Result<(Self, Vec<SecretString>), AdapterError> {
        let channel = name.as_str();
        let key = |reason| AdapterError::Key { channel: channel.to_owned(), reason };
        if settings.text("webhook").is_some() {
            let hook = settings.secret(name, "webhook")?;
            let (base, id) = match hook.expose_secret().trim_end_matches('/').rsplit_once("/hooks/")
            {
                Some((given, id)) => {
                    let base = base(channel, given).map_err(|error| error.of_field("webhook"))?;
                    (base, id.to_owned())
                }
                None => (settings.base(name)?, hook.expose_secret().to_owned()),
            };
            if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                return Err(key("it is no address of a webhook, which ends in /hooks/ and a key")
                    .of_field("webhook"));
            }
            let uri = route(channel, &base, &format!("/hooks/{id}"))?;
            return Ok((Self::Hook(uri), vec![hook, id.into()]));
        }
        let base = settings.base(name)?;
        let token = settings.secret(name, "token")?;
        let authorization = bearer(name, &token)?;
        let at = |path| route(channel, &base, path);
        let (posts, me) = (at("/api/v4/posts")?, at("/api/v4/users/me")?);
        let files = at("/api/v4/files")?.to_string();
        Ok((Self::Api { posts, me, files, authorization }, vec![token]))
    }

    /// A request that makes a post.
    ///
    /// # Errors
    ///
    /// Permanent, where the chat or the thread is none.
    pub fn message(
        &self,
        next: &Next<'_>,
        text: &str,
        files: &[String],
    ) -> Result<Request<Bytes>, Verdict> {
        let (chat, thread) = (next.chat, next.thread);
        let fault = |fault, reason| Err(unfit(fault, reason));
        match self {
            Self::Hook(_) if !thread.is_empty() => {
                fault(Fault::Thread, "a webhook cannot write to a thread")
            }
            Self::Hook(uri) => {
                check_name(chat).map_err(|reason| unfit(Fault::Target, reason))?;
                Ok(post_json(uri.clone(), &json!({"text": text, "channel": chat})))
            }
            Self::Api { .. } if !thread.is_empty() && !is_id(thread) => {
                fault(Fault::Thread, "the thread is no id of a post")
            }
            Self::Api { posts, authorization, .. } => {
                check_id(chat).map_err(|reason| unfit(Fault::Target, reason))?;
                let mut post =
                    json!({"channel_id": chat, "message": text, "pending_post_id": next.key});
                if !thread.is_empty() {
                    set(&mut post, "root_id", thread);
                }
                if !files.is_empty() {
                    set(&mut post, "file_ids", files);
                }
                Ok(authorized(post_json(posts.clone(), &post), authorization))
            }
        }
    }

    /// A request that has a file kept for a channel.
    ///
    /// # Errors
    ///
    /// Permanent, where the chat is none, and for a webhook, which takes no files.
    pub fn file(&self, chat: &str, file: OpenFile) -> Result<Request<FileBody>, Verdict> {
        let Self::Api { files, authorization, .. } = self else {
            return Err(unfit(Fault::Payload, "a webhook takes no files"));
        };
        if !is_id(chat) {
            return Err(unfit(Fault::Target, "the chat is no id of a channel"));
        }
        let uri = format!("{files}?channel_id={chat}&filename={}", segment(&file.name));
        let name = |_| unfit(Fault::Payload, "the name of the file does not fit an address");
        let kind = HeaderValue::from_static(content_type(&file.name));
        let mut request = Request::new(FileBody::new(vec![Piece::File(file)]));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.parse().map_err(name)?;
        request.headers_mut().insert(header::CONTENT_TYPE, kind);
        Ok(authorized(request, authorization))
    }

    /// The id of what was certainly accepted; a webhook tells none.
    pub fn accepted(&self, answer: &Answer) -> Option<Option<String>> {
        let id = answer.text_at("/id");
        let is_whole = answer.status.is_success();
        match self {
            Self::Hook(_) => (is_whole && answer.text.trim() == "ok").then_some(None),
            Self::Api { .. } => (is_whole && !id.is_empty()).then(|| Some(id.to_owned())),
        }
    }

    /// A request that posts nothing. No channel has a blank in its name.
    pub fn probe(&self) -> Request<Bytes> {
        match self {
            Self::Hook(uri) => {
                post_json(uri.clone(), &json!({"text": "probe", "channel": "no such channel"}))
            }
            Self::Api { me, authorization, .. } => authorized(get(me.clone()), authorization),
        }
    }

    /// Whether a probe's answer says that we are known.
    pub fn is_known(&self, answer: &Answer) -> bool {
        let id = answer.text_at("/id");
        match self {
            Self::Hook(_) => id == "web.incoming_webhook.channel.app_error",
            Self::Api { .. } => answer.status.is_success() && !id.is_empty(),
        }
    }
}

/// What the API takes as a chat.
pub fn check_id(chat: &str) -> Result<(), &'static str> {
    if is_id(chat) {
        Ok(())
    } else {
        Err("the chat is no id of a channel: those have 26 letters and digits")
    }
}

/// What a webhook takes as a chat.
pub fn check_name(chat: &str) -> Result<(), &'static str> {
    if chat.trim().is_empty() { Err("the chat is no name of a channel") } else { Ok(()) }
}

fn is_id(text: &str) -> bool {
    text.len() == 26 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
