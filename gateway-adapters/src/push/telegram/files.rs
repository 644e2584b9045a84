//! Files for Telegram: photos beside each other, everything else as a document.

use ::http::Uri;
use kanban_notify::{
    artifacts::{Attachment, Takes},
    text::clean,
    verdict::{Fault, Verdict},
};
use serde_json::{Value, json};

use super::{Telegram, topic};
use crate::{
    files::OpenFile,
    push::{
        attach::{Groups, is_image},
        call::Lost,
        multipart::Form,
        pin::Next,
        post::Post as _,
    },
};

/// The most bytes of a file, and of a request.
const FILE: u64 = 50_000_000;
/// The most bytes of a photo; a larger image is a document.
const PHOTO: u64 = 10_000_000;
/// The most files of a group.
const GROUP: usize = 10;
/// Of 1,024 UTF-16 units, whatever the characters are.
const CAPTION: usize = 500;

/// What a bot takes.
pub(super) const TAKES: Takes = Takes::files(FILE);

/// Photos stand together.
pub(super) const GROUPS: Groups = Groups { files: GROUP, bytes: FILE, together: is_photo };

fn is_photo(file: &Attachment) -> bool {
    // A GIF in a group would stand still, and an empty file is none.
    (1..=PHOTO).contains(&file.size)
        && is_image(&file.name)
        && !file.name.to_ascii_lowercase().ends_with(".gif")
}

/// Where files are sent.
pub(super) struct Files {
    pub(super) photo: Uri,
    pub(super) document: Uri,
    pub(super) group: Uri,
}

impl Telegram {
    /// Sends the files of a part: images as photos, and as documents where they are refused as photos.
    pub(super) async fn send_files(
        &self,
        next: &Next<'_>,
        files: Vec<OpenFile>,
        caption: String,
    ) -> Result<Verdict, Lost> {
        let topic = topic(next.thread)?;
        let are_photos = files.iter().all(|file| {
            let OpenFile { name, size, .. } = file;
            let (path, mark) = (String::new(), String::new());
            is_photo(&Attachment { path, name: name.clone(), size: *size, mark })
        });
        let again: Option<Vec<OpenFile>> = files.iter().map(OpenFile::again).collect();
        let mut tries = vec![(if are_photos { "photo" } else { "document" }, files)];
        tries.extend(again.filter(|_| are_photos).map(|files| ("document", files)));
        let mut last = Err(Lost::Changed);
        for (kind, files) in tries {
            let mut form = Form::default().text("chat_id", next.chat);
            if let Some(topic) = topic {
                form = form.text("message_thread_id", &topic.to_string());
            }
            let request = self.form(form, kind, files, clean::cut(&caption, CAPTION));
            let answer = self.line.caller.upload(request).await?;
            last = Ok(self.judge(next, &answer));
            // An image that is no photo: too long and narrow, or none at all.
            if !matches!(&last, Ok(Verdict::Permanent { fault: Fault::Payload, .. })) {
                break;
            }
        }
        last
    }

    fn form(
        &self,
        mut form: Form,
        kind: &'static str,
        files: Vec<OpenFile>,
        caption: String,
    ) -> ::http::Request<crate::files::stream::FileBody> {
        let several = files.len() > 1;
        if several {
            let media = files.iter().enumerate().map(|(number, _)| {
                let mut one = json!({"type": kind, "media": format!("attach://file{number}")});
                // Of a group the caption of the first one is shown.
                if let Some(fields) =
                    one.as_object_mut().filter(|_| number == 0 && !caption.is_empty())
                {
                    fields.insert("caption".to_owned(), Value::from(caption.as_str()));
                }
                one
            });
            form = form.text("media", &Value::from_iter(media).to_string());
        } else if !caption.is_empty() {
            form = form.text("caption", &caption);
        }
        for (number, file) in files.into_iter().enumerate() {
            let name = if several { format!("file{number}") } else { kind.to_owned() };
            form = form.file(&name, file);
        }
        form.post(match (several, kind) {
            (true, _) => self.files.group.clone(),
            (false, "photo") => self.files.photo.clone(),
            (false, _) => self.files.document.clone(),
        })
    }
}
