//! Files for Slack: a place for each, its bytes there, and then one message that shows them all.

use ::http::{HeaderValue, Method, Request, Uri, header};
use kanban_notify::{
    artifacts::Takes,
    verdict::{Detail, Fault, Verdict},
};
use serde_json::{Value, json};

use super::{CHAT, Slack, Workspace, check_thread, worse};
use crate::{
    files::{
        OpenFile,
        stream::{FileBody, Piece},
    },
    push::{
        attach::{Groups, unseen},
        call::{Answer, Lost, authorized, post_form, set},
        pin::Next,
    },
};

/// The most bytes of a file.
pub(super) const TAKES: Takes = Takes::files(1_000_000_000);

/// All stand together.
pub(super) const GROUPS: Groups = Groups { files: 10, bytes: u64::MAX, together: |_| true };

/// Where files are asked for, and shown.
pub(super) struct Files {
    pub(super) place: Uri,
    pub(super) complete: Uri,
}

impl Slack {
    /// Sends the files of a part, by the workspace that knows the channel.
    pub(super) async fn upload(
        &self,
        next: &Next<'_>,
        files: Vec<OpenFile>,
        caption: String,
    ) -> Result<Verdict, Lost> {
        check_thread(next.thread)?;
        let mut refused = None;
        for number in self.order(next.chat) {
            let Some(workspace) = self.workspaces.get(number) else { continue };
            let again: Option<Vec<_>> = files.iter().map(OpenFile::again).collect();
            let again = again.ok_or(Lost::Changed)?;
            workspace.pace.wait(next.chat, CHAT).await?;
            let mut kept = Vec::new();
            let mut verdict = None;
            for file in again {
                match self.keep(workspace, number, next, file).await? {
                    Ok(file) => kept.push(file),
                    Err(failed) => {
                        verdict = Some(failed);
                        break;
                    }
                }
            }
            let verdict = match verdict {
                Some(verdict) => verdict,
                None => self.show(workspace, number, next, kept, &caption).await?,
            };
            match &verdict {
                Verdict::Permanent { fault: Fault::Target | Fault::Credential, .. } => {
                    refused = worse(refused, verdict);
                }
                _ => return Ok(verdict),
            }
        }
        refused.ok_or(Lost::Changed)
    }

    /// Has one file kept; nobody sees it yet.
    async fn keep(
        &self,
        workspace: &Workspace,
        number: usize,
        next: &Next<'_>,
        file: OpenFile,
    ) -> Result<Result<Value, Verdict>, Lost> {
        let name = file.name.clone();
        let length = file.size.to_string();
        let fields = [("filename", name.as_str()), ("length", &length)];
        let request = post_form(self.files.place.clone(), &fields);
        let request = authorized(request, &workspace.authorization);
        let answer = self.caller.call(request).await.map_err(|lost| unseen(lost.into()))?;
        let (place, id) = (answer.text_at("/upload_url"), answer.text_at("/file_id"));
        let judged = |answer: &Answer| {
            let verdict = self.judge_file(number, next, answer);
            unseen(Lost::Verdict(verdict)).verdict()
        };
        if place.is_empty() || id.is_empty() {
            return Ok(Err(judged(&answer)?));
        }
        let mut request = Request::new(FileBody::new(vec![Piece::File(file)]));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.upload_place(place)?;
        let kind = HeaderValue::from_static("application/octet-stream");
        request.headers_mut().insert(header::CONTENT_TYPE, kind);
        let taken = self.caller.upload(request).await.map_err(unseen)?;
        match taken.status.is_success() {
            true => Ok(Ok(json!({"id": id, "title": name}))),
            false => Ok(Err(judged(&taken)?)),
        }
    }

    /// Where Slack wants a file: encrypted, unless it is where we were told that its Web API is.
    fn upload_place(&self, place: &str) -> Result<Uri, Verdict> {
        let place: Option<Uri> = place.parse().ok();
        let place = place.filter(|place| {
            let is_own =
                place.scheme() == self.post.scheme() && place.authority() == self.post.authority();
            place.scheme_str() == Some("https") || is_own
        });
        place.ok_or_else(|| {
            let detail = Detail::new("the place for a file is no address that can be used");
            Verdict::Retryable { retry_after: None, detail }
        })
    }

    /// Shows what is kept in one message.
    async fn show(
        &self,
        workspace: &Workspace,
        number: usize,
        next: &Next<'_>,
        kept: Vec<Value>,
        caption: &str,
    ) -> Result<Verdict, Lost> {
        let mut body = json!({"files": kept, "channel_id": next.chat});
        for (key, value) in [("thread_ts", next.thread), ("initial_comment", caption)] {
            if !value.is_empty() {
                set(&mut body, key, value);
            }
        }
        let request = self.request(workspace, &self.files.complete, &body);
        let answer = self.caller.call(request).await?;
        let verdict = self.judge_file(number, next, &answer);
        if matches!(verdict, Verdict::Delivered(_) | Verdict::Part { .. }) {
            self.found(next.chat, number);
        }
        Ok(verdict)
    }

    /// As for a message, but a bot that may not send files may send texts.
    fn judge_file(&self, number: usize, next: &Next<'_>, answer: &Answer) -> Verdict {
        match answer.text_at("/error") {
            error @ ("missing_scope" | "not_allowed_token_type") => {
                let words = format!("{error} (needed: files:write)");
                self.caller.fault(Fault::Payload, answer, &words)
            }
            _ => self.judge(number, next, answer),
        }
    }
}
