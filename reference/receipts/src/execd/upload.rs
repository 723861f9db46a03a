//! `POST /files/upload`: pairs of `metadata` and `file`, written where they say.

use std::io::Write;
use std::path::PathBuf;

use http_body_util::{BodyDataStream, BodyExt};
use hyper::Request;
use hyper::body::Incoming;
use multer::{Field, Multipart};

use super::reply::{ExecdReply, empty, error};
use crate::strict::{self, OrderedJson};

/// Writes the files of the request; the n-th metadata belongs to the n-th file.
pub(super) async fn upload(request: Request<Incoming>) -> ExecdReply {
    match write(request).await {
        Ok(()) => empty(200),
        Err(why) => error(400, "INVALID_FILE", &why),
    }
}

async fn write(request: Request<Incoming>) -> Result<(), String> {
    let kind = request.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    let boundary = multer::parse_boundary(kind.unwrap_or_default());
    let boundary = boundary.map_err(|error| error.to_string())?;
    let body = BodyDataStream::new(request.into_body().map_err(|error| error.to_string()));
    let mut body = Multipart::new(body, boundary);
    let mut paths = Vec::new();
    let mut files = 0;
    while let Some(field) = body.next_field().await.map_err(|error| error.to_string())? {
        match field.name().map(str::to_owned).as_deref() {
            Some("metadata") => {
                field.file_name().ok_or("metadata has no file name")?;
                paths.push(path(field).await?);
            }
            Some("file") => {
                let path = paths.get(files).ok_or("a file comes before its metadata")?;
                store(field, path).await?;
                files += 1;
            }
            _ => {}
        }
    }
    (files == paths.len()).then_some(()).ok_or_else(|| "metadata and files do not match".to_owned())
}

async fn path(field: Field<'_>) -> Result<PathBuf, String> {
    let text = field.bytes().await.map_err(|error| error.to_string())?;
    let json = strict::read(&text)?;
    let path = json.member("path").and_then(OrderedJson::text).ok_or("metadata has no path")?;
    Ok(PathBuf::from(path))
}

async fn store(mut field: Field<'_>, path: &PathBuf) -> Result<(), String> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    }
    let mut file = std::fs::File::create(path).map_err(|error| error.to_string())?;
    while let Some(piece) = field.chunk().await.map_err(|error| error.to_string())? {
        file.write_all(&piece).map_err(|error| error.to_string())?;
    }
    Ok(())
}
