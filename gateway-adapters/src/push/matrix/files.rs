//! Files for Matrix: kept by the server first, then shown by an event of their own.

use ::http::{HeaderValue, Method, Request, header};
use kanban_notify::{
    artifacts::Takes,
    verdict::{Detail, Verdict},
};
use serde_json::json;

use super::{Matrix, ROOM};
use crate::{
    files::{
        OpenFile,
        stream::{FileBody, Piece},
    },
    http::base::{route, segment},
    push::{
        attach::{Groups, content_type, is_image, unseen},
        call::Lost,
        pin::Next,
    },
};

/// What Synapse takes where nobody says otherwise; what a server takes is its own affair, and told.
pub(super) const TAKES: Takes = Takes::files(50 << 20);

/// Each has an event of its own.
pub(super) const GROUPS: Groups = Groups { files: 1, bytes: u64::MAX, together: |_| false };

impl Matrix {
    /// Sends the file of a part. One that is kept twice, after a crash, is shown once.
    pub(super) async fn upload(
        &self,
        next: &Next<'_>,
        files: Vec<OpenFile>,
        caption: String,
    ) -> Result<Verdict, Lost> {
        let Some(file) = files.into_iter().next() else { return Err(Lost::Changed) };
        let (name, size, kind) = (file.name.clone(), file.size, content_type(&file.name));
        self.pace.wait(next.chat, ROOM).await?;
        let way = self.session.way().await?;
        let path = format!("/_matrix/media/v3/upload?filename={}", segment(&name));
        let uri = route(self.name.as_str(), &self.base, &path)
            .map_err(|error| Verdict::Unreachable { detail: Detail::new(&error.to_string()) })?;
        let mut request = Request::new(FileBody::new(vec![Piece::File(file)]));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(header::AUTHORIZATION, way.authorization.clone());
        let kept = way.caller.upload(request).await.map_err(unseen)?;
        let place = kept.text_at("/content_uri");
        if !kept.status.is_success() || !place.starts_with("mxc://") {
            return unseen(Lost::Verdict(self.judge(next, &way, &kept).await)).verdict();
        }
        let event = json!({
            "msgtype": if is_image(&name) { "m.image" } else { "m.file" },
            "body": if caption.is_empty() { &name } else { &caption },
            "filename": name,
            "url": place,
            "info": {"mimetype": kind, "size": size},
            "m.mentions": {},
        });
        let mut request = self.event(next, event)?;
        request.headers_mut().insert(header::AUTHORIZATION, way.authorization.clone());
        let answer = way.caller.call(request).await?;
        Ok(self.judge(next, &way, &answer).await)
    }
}
