//! As much of HTTP/1.1 as a proxy needs: heads, and bodies in pieces as they come.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _};

/// The largest head of a request or an answer.
const MAX_HEAD: u64 = 64 * 1024;

/// The largest body of a request; as of kube-apiserver.
const MAX_REQUEST_BODY: u64 = 3 * 1024 * 1024;

/// The first line and the headers of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) first: String,
    headers: Vec<(String, String)>,
}

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
    /// It ends with the connection.
    Close,
}

impl Head {
    /// Reads a head; none if the other side ended before it began.
    pub(super) async fn read(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Self>> {
        let mut limited = stream.take(MAX_HEAD);
        let mut lines = Vec::new();
        loop {
            let mut line = Vec::new();
            limited.read_until(b'\n', &mut line).await?;
            if line.is_empty() && lines.is_empty() {
                return Ok(None);
            }
            let text = String::from_utf8(line).map_err(|_| invalid("a head that is not text"))?;
            match text.strip_suffix('\n') {
                None => return Err(invalid("a head that breaks off or is too long")),
                Some(line) if line.trim_end().is_empty() => break,
                Some(line) => lines.push(line.trim_end().to_owned()),
            }
        }
        Ok(Some(Self::parse(lines)?))
    }

    fn parse(lines: Vec<String>) -> io::Result<Self> {
        let mut lines = lines.into_iter();
        let first = lines
            .next()
            .ok_or_else(|| invalid("a head without a first line"))?;
        let headers = lines.map(|line| {
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| invalid("a header without a value"))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        });
        Ok(Self {
            first,
            headers: headers.collect::<io::Result<_>>()?,
        })
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.headers
            .retain(|(found, _)| !found.eq_ignore_ascii_case(name));
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    /// Path and parameters of a request.
    pub(super) fn target(&self) -> &str {
        self.first.split(' ').nth(1).unwrap_or_default()
    }

    /// The code of an answer.
    pub(super) fn code(&self) -> u16 {
        let code = self.first.split(' ').nth(1);
        code.and_then(|code| code.parse().ok()).unwrap_or_default()
    }

    /// How the body of an answer ends.
    pub(super) fn framing(&self) -> Framing {
        let is_chunked = |value: &str| value.to_ascii_lowercase().contains("chunked");
        if self.get("transfer-encoding").is_some_and(is_chunked) {
            return Framing::Chunked;
        }
        match (
            self.code(),
            self.get("content-length").and_then(|value| value.parse().ok()),
        ) {
            (204 | 304, _) => Framing::Length(0),
            (_, Some(length)) => Framing::Length(length),
            (_, None) => Framing::Close,
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{}\r\n", self.first);
        for (name, value) in &self.headers {
            text.extend([name, ": ", value, "\r\n"]);
        }
        text.push_str("\r\n");
        text.into_bytes()
    }
}

/// The body of a request, whole.
pub(super) async fn request_body(head: &Head, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    if head.get("transfer-encoding").is_some() {
        return Err(invalid("a request in chunks, which no client here sends"));
    }
    let length = head
        .get("content-length")
        .map_or(Ok(0), str::parse)
        .map_err(invalid)?;
    if length > MAX_REQUEST_BODY {
        return Err(invalid("a request that is too large"));
    }
    let mut body = Vec::new();
    stream.take(length).read_to_end(&mut body).await?;
    Ok(body)
}

/// The body of an answer, in the pieces in which it comes: a chunk is one piece or several, never a part of
/// one.
pub(super) struct Body {
    framing: Framing,
    /// What is left of the current chunk, or of the whole if the length is known.
    left: u64,
    is_over: bool,
}

/// The largest piece.
const PIECE: u64 = 64 * 1024;

impl Body {
    pub(super) fn new(framing: Framing) -> Self {
        let left = match framing {
            Framing::Length(length) => length,
            Framing::Chunked | Framing::Close => 0,
        };
        Self {
            framing,
            left,
            is_over: false,
        }
    }

    /// The next piece, not empty; none at the end.
    pub(super) async fn next(
        &mut self,
        stream: &mut (impl AsyncBufRead + Unpin),
    ) -> io::Result<Option<Vec<u8>>> {
        if self.is_over {
            return Ok(None);
        }
        let limit = match self.framing {
            Framing::Close => PIECE,
            Framing::Length(_) => self.left.min(PIECE),
            Framing::Chunked => {
                if self.left == 0 {
                    self.left = chunk_size(stream).await?;
                }
                self.left.min(PIECE)
            }
        };
        if limit == 0 {
            if self.framing == Framing::Chunked {
                end_of_line(stream).await?;
            }
            self.is_over = true;
            return Ok(None);
        }
        let piece = match self.framing {
            // A whole chunk where that is possible, so that what the server flushed together stays together.
            Framing::Chunked => {
                let mut piece = vec![0; usize::try_from(limit).map_err(invalid)?];
                stream.read_exact(&mut piece).await?;
                piece
            }
            Framing::Length(_) | Framing::Close => {
                let mut piece = Vec::new();
                let buffered = stream.fill_buf().await?;
                let count = buffered.len().min(usize::try_from(limit).map_err(invalid)?);
                piece.extend_from_slice(&buffered[..count]);
                stream.consume(count);
                piece
            }
        };
        match (piece.is_empty(), self.framing) {
            (true, Framing::Close) => {
                self.is_over = true;
                return Ok(None);
            }
            (true, _) => return Err(io::ErrorKind::UnexpectedEof.into()),
            (false, Framing::Close) => {}
            (false, Framing::Length(_)) => self.left -= piece.len() as u64,
            (false, Framing::Chunked) => {
                self.left -= piece.len() as u64;
                if self.left == 0 {
                    end_of_line(stream).await?;
                }
            }
        }
        Ok(Some(piece))
    }
}

async fn chunk_size(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<u64> {
    let mut line = String::new();
    stream.take(MAX_HEAD).read_line(&mut line).await?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let size = line.trim_end().split(';').next().unwrap_or_default();
    u64::from_str_radix(size, 16).map_err(invalid)
}

/// Reads up to the end of a line. Trailers after the last chunk are not read: no server here sends any.
async fn end_of_line(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    let mut line = String::new();
    stream.take(MAX_HEAD).read_line(&mut line).await?;
    match line.as_str() {
        "\r\n" | "\n" => Ok(()),
        _ => Err(invalid("a chunk that is longer than announced")),
    }
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(answer: &str, pieces: &[&str]) {
        let mut stream = answer.as_bytes();
        let head = Head::read(&mut stream).await.unwrap().unwrap();
        let mut body = Body::new(head.framing());
        let mut found = Vec::new();
        while let Some(piece) = body.next(&mut stream).await.unwrap() {
            found.push(String::from_utf8(piece).unwrap());
        }
        assert_eq!(found, pieces);
    }

    #[tokio::test]
    async fn bodies_end_as_their_heads_say() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd", &["abc"]).await;
        check("HTTP/1.1 200 OK\r\n\r\nabcd", &["abcd"]).await;
        check("HTTP/1.1 204 No Content\r\n\r\n", &[]).await;
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        check(chunks, &["abc", "de"]).await;
    }

    #[tokio::test]
    async fn a_head_is_written_as_it_was_read_but_for_what_is_changed() {
        let mut stream = "GET /a?b=c HTTP/1.1\r\nHost: x\r\nAccept: y\r\n\r\n".as_bytes();
        let mut head = Head::read(&mut stream).await.unwrap().unwrap();
        assert_eq!(head.target(), "/a?b=c");
        head.set("host", "z");
        assert_eq!(
            head.bytes(),
            b"GET /a?b=c HTTP/1.1\r\nAccept: y\r\nhost: z\r\n\r\n"
        );
        assert!(
            Head::read(&mut stream).await.unwrap().is_none(),
            "there is no other"
        );
    }

    #[tokio::test]
    async fn what_breaks_off_is_an_error() {
        assert!(Head::read(&mut "GET / HT".as_bytes()).await.is_err());
        let mut body = Body::new(Framing::Chunked);
        assert!(body.next(&mut "5\r\nab".as_bytes()).await.is_err());
        let mut body = Body::new(Framing::Length(5));
        let mut stream = "ab".as_bytes();
        assert!(body.next(&mut stream).await.is_ok());
        assert!(body.next(&mut stream).await.is_err());
    }
}
