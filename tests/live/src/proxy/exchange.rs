//! One request and its answer, with or without a fault on the way.

use std::io;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::Shared;
use super::message::{Body, Framing, Head, request_body};
use super::plan::{Fate, FaultKind, Harm, Verb};

/// The largest watch event that is sent twice.
const MAX_FRAME: usize = 4 * 1024 * 1024;

/// What happens to the connection after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It waits for the next one.
    Request,
    /// It ends in good order.
    Close,
    Reset,
}

/// Serves the next request of a connection.
pub(super) async fn exchange(client: &mut BufReader<TcpStream>, shared: &Shared) -> io::Result<Next> {
    let Some(mut request) = Head::read(client).await? else {
        return Ok(Next::Close);
    };
    let body = request_body(&request, client).await?;
    let target = request.target().to_owned();
    tokio::select! {
        () = shared.arrived(&target) => {}
        () = gone(client) => return Ok(Next::Close),
    }
    let fate = match shared.is_stormy() {
        true => shared.plan().draw(verb(&target)),
        false => Fate::Pass,
    };
    let mut upstream = &shared.upstream;
    let mut harm = None;
    match fate {
        Fate::Pass => {}
        Fate::Answer(refusal) => {
            shared.happened(refusal.kind, &target);
            client
                .write_all(&refusal_bytes(refusal.code, refusal.reason, refusal.retry_after))
                .await?;
            return Ok(Next::Request);
        }
        Fate::ResetAtOnce => {
            shared.happened(FaultKind::Reset, &target);
            return Ok(Next::Reset);
        }
        Fate::Delay(time) => {
            shared.happened(FaultKind::Delay, &target);
            silence(client, shared, time).await;
        }
        Fate::Stale => {
            shared.happened(FaultKind::Stale, &target);
            upstream = shared.stale.as_ref().unwrap_or(upstream);
        }
        Fate::Body { harm: drawn, after } => harm = Some(Pending { harm: drawn, after }),
    }

    // Objects have no visible boundaries in a compressed body.
    if matches!(
        harm,
        Some(Pending {
            harm: Harm::CutObject | Harm::Duplicate,
            ..
        })
    ) {
        request.remove("accept-encoding");
    }
    request.set("host", &upstream.authority());
    request.set("connection", "close");
    if let Some(agent) = upstream.agent() {
        request.set("user-agent", agent);
    }
    let mut server = BufReader::new(upstream.connect().await?);
    server.write_all(&request.bytes()).await?;
    server.write_all(&body).await?;
    server.flush().await?;
    let head = tokio::select! {
        head = Head::read(&mut server) => head?,
        () = gone(client) => return Ok(Next::Close),
    };
    let mut head = head.ok_or(io::ErrorKind::UnexpectedEof)?;
    head.remove("connection");
    client.write_all(&head.bytes()).await?;

    let is_gzip = head
        .get("content-encoding")
        .is_some_and(|encoding| encoding.contains("gzip"));
    let mut relay = Relay {
        client,
        shared,
        target: &target,
        framing: head.framing(),
        is_gzip,
        pending: harm,
        passed: 0,
        frame: Vec::new(),
    };
    if relay.pending.is_none() {
        relay.draw_end();
    }
    let mut body = Body::new(relay.framing);
    loop {
        let piece = tokio::select! {
            piece = body.next(&mut server) => piece?,
            () = gone(relay.client) => return Ok(Next::Close),
        };
        let Some(piece) = piece else {
            return relay.end().await;
        };
        if let Some(next) = relay.piece(&piece).await? {
            return Ok(next);
        }
    }
}

fn verb(target: &str) -> Verb {
    let is_watch = target.contains("watch=true") || target.contains("watch=1");
    match (is_watch, target.contains("sendInitialEvents=true")) {
        (true, false) => Verb::Watch,
        (true, true) => Verb::WatchList,
        (false, _) => Verb::Other,
    }
}

/// A harm that waits for its place in the body.
#[derive(Clone, Copy)]
struct Pending {
    harm: Harm,
    after: u64,
}

/// The way of a body to the client.
struct Relay<'a> {
    client: &'a mut BufReader<TcpStream>,
    shared: &'a Shared,
    target: &'a str,
    framing: Framing,
    is_gzip: bool,
    pending: Option<Pending>,
    /// How many bytes the client has.
    passed: u64,
    /// The incomplete event, if one is to be sent twice.
    frame: Vec<u8>,
}

impl Relay<'_> {
    /// Passes a piece on, or harms it. Says what is next if that ends the exchange.
    async fn piece(&mut self, piece: &[u8]) -> io::Result<Option<Next>> {
        let Some(Pending { harm, after }) = self.pending else {
            self.send(piece).await?;
            return Ok(None);
        };
        if !self.shared.is_stormy() {
            self.pending = None;
            self.send(piece).await?;
            return Ok(None);
        }
        if harm == Harm::Duplicate {
            self.duplicate(piece, after).await?;
            return Ok(None);
        }
        let place = usize::try_from(after.saturating_sub(self.passed)).unwrap_or(usize::MAX);
        match place_within(piece, place, self.is_gzip) {
            Some(place) => self.strike(harm, piece, place).await.map(Some),
            None => {
                self.send(piece).await?;
                Ok(None)
            }
        }
    }

    /// Watches do not last.
    fn draw_end(&mut self) {
        let is_mortal = self.shared.is_stormy() && verb(self.target) != Verb::Other;
        let end = is_mortal.then(|| self.shared.plan().draw_end()).flatten();
        self.pending = end.map(|(harm, after)| Pending {
            harm,
            after: self.passed + after,
        });
    }

    async fn strike(&mut self, harm: Harm, piece: &[u8], place: usize) -> io::Result<Next> {
        let is_chunked = self.framing == Framing::Chunked;
        let kind = match harm {
            Harm::CutGzip | Harm::CutObject if self.is_gzip => FaultKind::CutGzip,
            Harm::CutChunk if is_chunked => FaultKind::CutChunk,
            Harm::Stall(_) => FaultKind::Stall,
            Harm::Reset => FaultKind::Reset,
            Harm::CutGzip | Harm::CutObject | Harm::CutChunk | Harm::Duplicate => FaultKind::CutObject,
        };
        self.shared.happened(kind, self.target);
        match kind {
            FaultKind::CutChunk | FaultKind::Stall if is_chunked => {
                self.client
                    .write_all(format!("{:x}\r\n", piece.len()).as_bytes())
                    .await?;
                self.client.write_all(&piece[..place]).await?;
            }
            _ => self.send(&piece[..place]).await?,
        }
        self.client.flush().await?;
        match harm {
            Harm::Stall(time) => {
                silence(self.client, self.shared, time).await;
                Ok(Next::Reset)
            }
            Harm::Reset => Ok(Next::Reset),
            _ if is_chunked && kind != FaultKind::CutChunk => {
                self.client.write_all(b"0\r\n\r\n").await?;
                Ok(Next::Close)
            }
            _ => Ok(Next::Close),
        }
    }

    /// Forwards a chunk, and sends the first event that ends after this many bytes a second time.
    async fn duplicate(&mut self, piece: &[u8], after: u64) -> io::Result<()> {
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, others) = rest.split_at(end + 1);
            rest = others;
            self.send(line).await?;
            self.frame.extend_from_slice(line);
            let frame = std::mem::take(&mut self.frame);
            if self.passed >= after {
                self.shared.happened(FaultKind::Duplicate, self.target);
                self.send(&frame).await?;
                self.draw_end();
                break;
            }
        }
        self.frame.extend_from_slice(rest);
        if self.frame.len() > MAX_FRAME {
            self.pending = None;
        }
        self.send(rest).await
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.passed += bytes.len() as u64;
        match self.framing {
            Framing::Chunked => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(bytes);
                chunk.extend_from_slice(b"\r\n");
                self.client.write_all(&chunk).await
            }
            Framing::Length(_) | Framing::Close => self.client.write_all(bytes).await,
        }
    }

    async fn end(&mut self) -> io::Result<Next> {
        match self.framing {
            Framing::Chunked => {
                self.client.write_all(b"0\r\n\r\n").await?;
                Ok(Next::Request)
            }
            Framing::Length(_) => Ok(Next::Request),
            Framing::Close => Ok(Next::Close),
        }
    }
}

/// The place to cut a piece at, not before the wanted one: within an object, or within a gzip member. None if
/// the piece ends before it, or is too small to have such a place.
fn place_within(piece: &[u8], wanted: usize, is_gzip: bool) -> Option<usize> {
    // The last two bytes are the end of the last object and its newline, or belong to the trailer of the last
    // member.
    let last = piece.len().checked_sub(2)?;
    let is_within = |place: &usize| {
        let at_edge = match is_gzip {
            true => piece[*place..].starts_with(&[0x1f, 0x8b]),
            false => piece[*place - 1] == b'\n' || piece[*place] == b'\n',
        };
        !at_edge
    };
    (wanted.max(1)..=last).find(is_within)
}

/// Returns when the client has left. Something it sends before the answer is complete counts as leaving: no
/// client here does.
async fn gone(client: &mut BufReader<TcpStream>) {
    // An error means the same.
    let _bytes = client.fill_buf().await;
}

/// Sends nothing for this time, or until the client disconnects or the faults end.
async fn silence(client: &mut BufReader<TcpStream>, shared: &Shared, time: Duration) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = gone(client) => {}
        () = shared.calm() => {}
    }
}

/// A refusal as kube-apiserver words it.
fn refusal_bytes(code: u16, reason: &str, retry_after: u32) -> Vec<u8> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "the fault proxy refused this request", "reason": reason, "code": code,
        "details": {"retryAfterSeconds": retry_after},
    })
    .to_string();
    format!(
        "HTTP/1.1 {code} {reason}\r\nContent-Type: application/json\r\nRetry-After: {retry_after}\r\n\
         Content-Length: {}\r\n\r\n{status}",
        status.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(piece: &[u8], wanted: usize, is_gzip: bool, place: Option<usize>) {
        assert_eq!(place_within(piece, wanted, is_gzip), place);
    }

    #[test]
    fn a_cut_is_never_between_objects_or_members() {
        check(b"{1}\n{2}\n", 0, false, Some(1));
        check(b"{1}\n{2}\n", 3, false, Some(5));
        check(b"{1}\n{2}\n", 4, false, Some(5));
        check(b"{1}\n{2}\n", 7, false, None);
        check(b"\n", 0, false, None);
        check(b"", 0, false, None);
        check(b"\x1f\x8babc\x1f\x8babc", 5, true, Some(6));
    }
}
