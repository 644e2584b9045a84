//! Files for Mattermost: kept by the server first, then shown by one post.

use kanban_notify::{
    artifacts::Takes,
    verdict::{Fault, Verdict},
};

use super::Mattermost;
use crate::{
    files::OpenFile,
    push::{
        attach::{Groups, unseen},
        call::{Answer, Lost},
        pin::Next,
        post::Post as _,
    },
};

/// What a server takes where nobody says otherwise.
pub(super) const TAKES: Takes = Takes::files(100 << 20);

/// All stand together.
pub(super) const GROUPS: Groups = Groups { files: 10, bytes: u64::MAX, together: |_| true };

/// The server keeps no files, or none of this size.
const NONE: &[&str] = &["attachments.disabled", "storage.app_error", "too_large"];

impl Mattermost {
    /// Sends the files of a part.
    pub(super) async fn send_files(
        &self,
        next: &Next<'_>,
        files: Vec<OpenFile>,
        caption: String,
    ) -> Result<Verdict, Lost> {
        let mut ids = Vec::new();
        for file in files {
            let request = self.way.file(next.chat, file)?;
            let kept = self.line.caller.upload(request).await.map_err(unseen)?;
            let id = kept.text_at("/file_infos/0/id");
            if !kept.status.is_success() || id.is_empty() {
                let verdict = self.judge_file(next, &kept);
                return unseen(Lost::Verdict(verdict)).verdict();
            }
            ids.push(id.to_owned());
        }
        let request = self.way.message(next, &caption, &ids)?;
        let answer = self.line.caller.call(request).await?;
        Ok(self.judge(next, &answer))
    }

    /// As for a post, but a server that keeps no files takes texts.
    fn judge_file(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        let code = answer.text_at("/id");
        if answer.status.as_u16() == 501 || NONE.iter().any(|sign| code.contains(sign)) {
            return self.line.caller.fault(Fault::Payload, answer, code);
        }
        // Only a post says that a post was made.
        match self.judge(next, answer) {
            Verdict::Delivered(_) | Verdict::Part { .. } => self.line.caller.refused(answer, code),
            verdict => verdict,
        }
    }
}
