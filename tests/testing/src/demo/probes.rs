//! Answers the probes of a kubelet: `/readyz` and `/livez`.

use std::fmt::Display;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The part of a request that is read: its first line is enough.
const MOST_BYTES: usize = 1024;

/// Answers one request after the other, until it is dropped.
pub(super) async fn serve<H, R: Display, L: Display>(
    listener: TcpListener,
    health: H,
    ready: impl Fn(&H) -> Result<(), R>,
    live: impl Fn(&H) -> Result<(), L>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let answered =
                    tokio::time::timeout(TIMEOUT, answer(stream, || ready(&health), || live(&health)));
                // A client that left, or sends nothing, gets no answer.
                drop(answered.await);
            }
            // Such as too many open files.
            Err(_) => tokio::time::sleep(TIMEOUT).await,
        }
    }
}

async fn answer<R: Display, L: Display>(
    mut stream: TcpStream,
    ready: impl Fn() -> Result<(), R>,
    live: impl Fn() -> Result<(), L>,
) -> std::io::Result<()> {
    let mut request = vec![0; MOST_BYTES];
    let length = stream.read(&mut request).await?;
    let (status, text) = match path(&request[..length]) {
        Some("/readyz") => outcome(ready()),
        Some("/livez") => outcome(live()),
        _ => ("404 Not Found", "use /readyz or /livez".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(format!("{head}{text}").as_bytes()).await?;
    stream.shutdown().await
}

/// The path of the first line, such as `GET /readyz HTTP/1.1`.
fn path(request: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(request).ok()?.lines().next()?;
    let path = line.strip_prefix("GET ")?.split(' ').next()?;
    path.split('?').next()
}

fn outcome<E: Display>(health: Result<(), E>) -> (&'static str, String) {
    match health {
        Ok(()) => ("200 OK", "ok".to_owned()),
        Err(error) => ("503 Service Unavailable", error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_request_is_read_and_nothing_else_accepted() {
        assert_eq!(path(b"GET /readyz HTTP/1.1\r\nHost: x\r\n"), Some("/readyz"));
        assert_eq!(path(b"GET /livez?verbose HTTP/1.1"), Some("/livez"));
        assert_eq!(path(b"POST /livez HTTP/1.1"), None);
        assert_eq!(path(b""), None);
        assert_eq!(path(b"\xff"), None);
    }

    #[tokio::test]
    async fn a_probe_gets_the_reason_why_it_fails() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ready = |(): &()| Err("caches are empty");
        let live = |(): &()| Ok::<_, String>(());
        let server = tokio::spawn(serve(listener, (), ready, live));
        for (path, expected) in [
            ("/readyz", "HTTP/1.1 503 Service Unavailable"),
            ("/livez", "HTTP/1.1 200 OK"),
            ("/", "HTTP/1.1 404 Not Found"),
        ] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream
                .write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes())
                .await
                .unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with(expected), "{path}: {answer}");
            assert_eq!(
                answer.ends_with("caches are empty"),
                path == "/readyz",
                "{answer}"
            );
        }
        server.abort();
    }
}
