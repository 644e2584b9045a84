//! Files for Mattermost: kept by the server first, then shown by one post.

use kanban_notify::{
    artifacts::Takes,
    message::Parcel,
    verdict::{Fault, Verdict},
};

use super::{BREAK, CHANNEL, Mattermost};
use crate::{
    files::OpenFile,
    push::{
        attach::{Groups, unseen},
        call::{Answer, Lost},
        pin::Next,
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
    pub(super) async fn upload(
        &self,
        (channel, thread): (&str, &str),
        parcel: &Parcel,
        next: &Next,
        (files, caption): (Vec<OpenFile>, String),
    ) -> Result<Verdict, Lost> {
        self.pace.wait(channel, CHANNEL).await?;
        let mut ids = Vec::new();
        for file in files {
            let request = self.way.file(channel, file)?;
            let kept = self.caller.upload(request).await.map_err(unseen)?;
            let id = kept.text_at("/file_infos/0/id");
            if !kept.status.is_success() || id.is_empty() {
                let verdict = self.judge_file(channel, next, &kept);
                return unseen(Lost::Verdict(verdict)).verdict();
            }
            ids.push(id.to_owned());
        }
        let text = if caption.is_empty() { caption } else { format!("{BREAK}{caption}") };
        let request = self.way.message((channel, thread), &parcel.part_key(), &text, &ids)?;
        let answer = self.caller.call(request).await?;
        Ok(self.judge(channel, next, &answer))
    }

    /// As for a post, but a server that keeps no files takes texts.
    fn judge_file(&self, channel: &str, next: &Next, answer: &Answer) -> Verdict {
        let code = answer.text_at("/id");
        if answer.status.as_u16() == 501 || NONE.iter().any(|sign| code.contains(sign)) {
            return self.caller.fault(Fault::Payload, answer, code);
        }
        // Only a post says that a post was made.
        match self.judge(channel, next, answer) {
            Verdict::Delivered(_) | Verdict::Part { .. } => self.caller.refused(answer, code),
            verdict => verdict,
        }
    }
}
