//! The file of a saved cache: what it looks like, how it is written in one step, and why one is refused.
//!
//! A line with the format, a line with the [`Header`] as JSON, the objects as lines of JSON in one gzip
//! member, and a trailer: the CRC-32 of everything before it, and its length, both little-endian.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::identity::Identity;
use crate::source::SourceObject;

/// The first line. A change of the format changes the number.
const FORMAT: &str = "informers saved cache 1";

/// CRC-32 and length.
const TRAILER: usize = 12;

/// The decompressed contents may have this many times the size of the largest file.
const RATIO: u64 = 32;

/// How far the clock may be behind the time at which a file was written.
const CLOCK_SKEW: Duration = Duration::from_secs(300);

/// What a file begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) identity: Identity,
    pub(super) version: String,
    /// Seconds since 1970.
    pub(super) saved_at: u64,
    pub(super) objects: u64,
    pub(super) continuation: Continuation,
}

/// What follows a start from a saved cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Continuation {
    /// A watch from its version.
    Watch,
    /// The whole state is read: some objects in the cache were known not to be current.
    FullRead,
}

/// What a file must not exceed.
pub(super) struct Limits {
    pub(super) bytes: u64,
    pub(super) age: Duration,
}

/// Why a file is not used, or not written.
#[derive(thiserror::Error)]
pub(crate) enum Refused {
    #[error(
        "the cluster cannot be identified; allow `get` of the namespace kube-system, or name the cluster"
    )]
    UnknownCluster,
    #[error("{what} failed: {error}")]
    File { what: &'static str, error: io::Error },
    #[error("it has more than {limit} bytes; raise `max_bytes` to accept it")]
    TooLarge { limit: u64 },
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    #[error("it has another format, of another version of this library")]
    Format,
    #[error("it belongs to another {what}: {saved:?}, not {present:?}")]
    Foreign {
        what: &'static str,
        saved: String,
        present: String,
    },
    #[error("it is {age:?} old, and the limit is {limit:?}")]
    TooOld { age: Duration, limit: Duration },
    #[error("it was saved in the future; the clock was changed")]
    FromTheFuture,
    #[error("an object cannot be encoded as JSON")]
    Encode,
}

crate::__debug_is_the_message!(Refused);

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::File {
            what: "writing it",
            error,
        }
    }
}

impl From<serde_json::Error> for Refused {
    /// The text of the error may quote an object, so it is dropped.
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => Self::from(io::Error::from(kind)),
            None => Self::Encode,
        }
    }
}

impl Header {
    /// How long ago the file was saved.
    pub(super) fn age(&self, now: SystemTime, limits: &Limits) -> Result<Duration, Refused> {
        let saved = UNIX_EPOCH
            .checked_add(Duration::from_secs(self.saved_at))
            .ok_or(Refused::FromTheFuture)?;
        let age = match now.duration_since(saved) {
            Ok(age) => age,
            Err(ahead) if ahead.duration() <= CLOCK_SKEW => Duration::ZERO,
            Err(_) => return Err(Refused::FromTheFuture),
        };
        match age > limits.age {
            true => Err(Refused::TooOld {
                age,
                limit: limits.age,
            }),
            false => Ok(age),
        }
    }
}

/// Writes a file in one step: a reader finds the old one or the new one, also after a crash. Returns its
/// size.
pub(super) fn write_file(
    path: &Path,
    header: &Header,
    limit: u64,
    objects: impl FnOnce(&mut dyn Write) -> Result<(), Refused>,
) -> Result<u64, Refused> {
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    let fail = |what| move |error| Refused::File { what, error };
    fs::create_dir_all(directory).map_err(fail("creating its directory"))?;
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = write_temporary(&temporary, header, limit, objects).and_then(|bytes| {
        fs::rename(&temporary, path).map_err(fail("renaming it"))?;
        // The new name itself must survive a crash. Not every file system supports this.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(bytes)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_temporary(
    path: &Path,
    header: &Header,
    limit: u64,
    objects: impl FnOnce(&mut dyn Write) -> Result<(), Refused>,
) -> Result<u64, Refused> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(|error| Refused::File {
        what: "creating it",
        error,
    })?;
    let mut output = Summed {
        inner: BufWriter::new(file),
        sum: Crc::new(),
        length: 0,
        limit,
    };
    let written = write_contents(&mut output, header, objects);
    if output.length > limit {
        return Err(Refused::TooLarge { limit });
    }
    written?;
    let (sum, length) = (output.sum.sum(), output.length);
    output.inner.write_all(&sum.to_le_bytes())?;
    output.inner.write_all(&length.to_le_bytes())?;
    let file = output
        .inner
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(length + TRAILER as u64)
}

fn write_contents(
    output: &mut Summed<BufWriter<File>>,
    header: &Header,
    objects: impl FnOnce(&mut dyn Write) -> Result<(), Refused>,
) -> Result<(), Refused> {
    writeln!(output, "{FORMAT}")?;
    serde_json::to_writer(&mut *output, header)?;
    writeln!(output)?;
    let mut compressed = GzEncoder::new(output, Compression::fast());
    objects(&mut compressed)?;
    compressed.finish()?;
    Ok(())
}

/// Counts and sums what passes through, and fails past the limit.
struct Summed<W> {
    inner: W,
    sum: Crc,
    length: u64,
    limit: u64,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        self.length += written as u64;
        match self.length > self.limit {
            true => Err(io::Error::from(io::ErrorKind::FileTooLarge)),
            false => Ok(written),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Reads a file of at most `limit` bytes.
pub(super) fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, Refused> {
    let fail = |error| Refused::File {
        what: "reading it",
        error,
    };
    let most = limit.saturating_add(TRAILER as u64);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(fail)?;
    file.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    match bytes.len() as u64 > most {
        true => Err(Refused::TooLarge { limit }),
        false => Ok(bytes),
    }
}

/// Checks the sum and splits a file into its header and its compressed body.
pub(super) fn verify(bytes: &[u8]) -> Result<(Header, &[u8]), Refused> {
    let damaged = Refused::Damaged;
    let (contents, trailer) = bytes
        .len()
        .checked_sub(TRAILER)
        .map(|length| bytes.split_at(length))
        .ok_or(damaged("it is too short"))?;
    let (sum, length) = trailer.split_at(4);
    if length != (contents.len() as u64).to_le_bytes() {
        // A file of another format has no such trailer either.
        return Err(match contents.starts_with(FORMAT.as_bytes()) {
            true => damaged("it is not complete"),
            false => Refused::Format,
        });
    }
    let mut found = Crc::new();
    found.update(contents);
    if sum != found.sum().to_le_bytes() {
        return Err(damaged("its checksum is wrong"));
    }
    let mut lines = contents.splitn(3, |byte| *byte == b'\n');
    if lines.next() != Some(FORMAT.as_bytes()) {
        return Err(Refused::Format);
    }
    let (Some(header), Some(body)) = (lines.next(), lines.next()) else {
        return Err(damaged("it has no header"));
    };
    let header = serde_json::from_slice(header).map_err(|_| Refused::Format)?;
    Ok((header, body))
}

/// Decodes as many objects as a number says, each with the size of its JSON.
pub(super) type ReadObjects<K> = fn(&mut dyn Read, u64) -> Result<Vec<SourceObject<K>>, Refused>;

/// Decompresses and decodes the objects.
pub(super) fn read_body<K>(
    body: &[u8],
    header: &Header,
    limits: &Limits,
    read: ReadObjects<K>,
) -> Result<Vec<SourceObject<K>>, Refused> {
    let most = limits.bytes.saturating_mul(RATIO);
    let mut objects = io::BufReader::new(GzDecoder::new(body).take(most));
    read(&mut objects, header.objects)
}

/// Decodes lines of JSON. There must be as many as the header says.
pub(super) fn read_objects<K: DeserializeOwned>(
    input: &mut dyn Read,
    expected: u64,
) -> Result<Vec<SourceObject<K>>, Refused> {
    let mut objects = Vec::new();
    let mut stream = serde_json::Deserializer::from_reader(input).into_iter::<K>();
    let mut begin = 0;
    while let Some(object) = stream.next() {
        // The text of the error may quote the object.
        let object = object.map_err(|_| Refused::Damaged("an object in it cannot be decoded"))?;
        let end = stream.byte_offset();
        objects.push(SourceObject::new(Arc::new(object), end.saturating_sub(begin)));
        begin = end;
        if objects.len() as u64 > expected {
            break;
        }
    }
    match objects.len() as u64 == expected {
        true => Ok(objects),
        false => Err(Refused::Damaged(
            "it has another number of objects than its header",
        )),
    }
}
