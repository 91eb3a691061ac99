//! The body of a response in chunks.

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::WriteHalf;

use crate::Result;

/// How many bytes are gathered before they are sent.
const LARGE: usize = 64 * 1024;

pub(super) struct Body<'s> {
    output: WriteHalf<'s>,
    buffer: Vec<u8>,
}

impl<'s> Body<'s> {
    pub(super) fn new(output: WriteHalf<'s>) -> Self {
        Self {
            output,
            buffer: Vec::new(),
        }
    }

    /// Sends the head of a response, whose body follows.
    pub(super) async fn begin(&mut self, content_type: &str) -> Result<()> {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n");
        Ok(self.output.write_all(head.as_bytes()).await?)
    }

    pub(super) async fn not_found(&mut self) -> Result<()> {
        let head = "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
        self.output.write_all(head.as_bytes()).await?;
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404});
        self.buffer.extend_from_slice(status.to_string().as_bytes());
        Ok(())
    }

    /// Where the next bytes are written.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    pub(super) async fn flush_if_large(&mut self) -> Result<()> {
        match self.buffer.len() {
            0..LARGE => Ok(()),
            _ => self.flush().await,
        }
    }

    pub(super) async fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            let length = format!("{:x}\r\n", self.buffer.len());
            self.output.write_all(length.as_bytes()).await?;
            self.buffer.extend_from_slice(b"\r\n");
            self.output.write_all(&self.buffer).await?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Sends the rest and the end of the body.
    pub(super) async fn end(&mut self) -> Result<()> {
        self.flush().await?;
        Ok(self.output.write_all(b"0\r\n\r\n").await?)
    }
}
