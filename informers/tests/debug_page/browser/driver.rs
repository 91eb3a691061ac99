//! A headless Chromium, driven through chromedriver by the WebDriver protocol.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(60);
/// The time between two looks at a page.
const PAUSE: Duration = Duration::from_millis(50);

/// No sandbox, because CI runs as root; nothing that talks to its vendor.
const ARGUMENTS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// Reads an answer of the driver, which keeps the connection open.
async fn read_body(mut stream: BufReader<TcpStream>) -> Vec<u8> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    body
}

/// One browser with one window.
pub(crate) struct Browser {
    _driver: Child,
    address: SocketAddr,
    session: String,
}

impl Browser {
    pub(crate) async fn start() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver is installed");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = loop {
            let line = lines
                .next_line()
                .await
                .unwrap()
                .expect("chromedriver names its port");
            let port = line.rsplit_once("successfully on port ");
            if let Some((_, port)) = port {
                break port.trim_end_matches('.').parse::<u16>().unwrap();
            }
        };
        let mut browser = Self {
            _driver: driver,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            session: String::new(),
        };
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": ARGUMENTS },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let session = browser.send("POST", "/session", &capabilities).await;
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        browser.size(1_280, 800).await;
        let hidden = json!({ "hidden": true });
        browser.command("Emulation.setScrollbarsHidden", hidden).await;
        browser
    }

    /// Sends a command to the driver and returns the value of its answer.
    async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let exchange = async {
            let body = match method {
                "POST" => body.to_string(),
                _ => String::new(),
            };
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n",
                self.address,
                body.len()
            );
            stream
                .write_all(format!("{head}{body}").as_bytes())
                .await
                .unwrap();
            read_body(BufReader::new(stream)).await
        };
        let body = tokio::time::timeout(LIMIT, exchange)
            .await
            .expect("chromedriver answers");
        let mut body: Value = serde_json::from_slice(&body).unwrap();
        let value = body["value"].take();
        assert!(value.get("error").is_none(), "{method} {path}: {value:#}");
        value
    }

    async fn post(&self, command: &str, body: Value) -> Value {
        self.send("POST", &format!("/session/{}/{command}", self.session), &body)
            .await
    }

    pub(crate) async fn open(&self, url: &str) {
        self.post("url", json!({ "url": url })).await;
    }

    /// Clicks on the only element of a selector, as a user does.
    pub(crate) async fn click(&self, selector: &str) {
        let found = self
            .post("element", json!({ "using": "css selector", "value": selector }))
            .await;
        let element = found
            .as_object()
            .unwrap()
            .values()
            .next()
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned();
        self.post(&format!("element/{element}/click"), json!({})).await;
    }

    /// Types into the only element of a selector.
    pub(crate) async fn write(&self, selector: &str, text: &str) {
        let found = self
            .post("element", json!({ "using": "css selector", "value": selector }))
            .await;
        let element = found
            .as_object()
            .unwrap()
            .values()
            .next()
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned();
        self.post(&format!("element/{element}/value"), json!({ "text": text }))
            .await;
    }

    /// The value of an expression in the page.
    pub(crate) async fn value(&self, expression: &str) -> Value {
        let script = format!("return {expression};");
        self.post("execute/sync", json!({ "script": script, "args": [] }))
            .await
    }

    /// Waits until an expression in the page is true.
    pub(crate) async fn until(&self, expression: &str) {
        let waited = tokio::time::timeout(LIMIT, async {
            while self.value(&format!("!!({expression})")).await != true {
                tokio::time::sleep(PAUSE).await;
            }
        });
        if waited.await.is_err() {
            let text = self.value("document.body.innerText").await;
            panic!("never: {expression}\n{}", text.as_str().unwrap_or_default());
        }
    }

    /// A command of Chromium's own protocol.
    pub(crate) async fn command(&self, name: &str, parameters: Value) -> Value {
        self.post("goog/cdp/execute", json!({ "cmd": name, "params": parameters }))
            .await
    }

    /// Sets the size of the page, which may be narrower than a window can be.
    pub(crate) async fn size(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.command("Emulation.setDeviceMetricsOverride", size).await;
    }

    pub(crate) async fn color_scheme(&self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.command("Emulation.setEmulatedMedia", json!({ "features": [feature] }))
            .await;
    }

    /// Writes a picture of the page to a folder, if the variable `SCREENSHOTS` names one.
    pub(crate) async fn picture(&self, name: &str) {
        use base64::Engine as _;
        let Ok(folder) = std::env::var("SCREENSHOTS") else {
            return;
        };
        let data = self
            .send(
                "GET",
                &format!("/session/{}/screenshot", self.session),
                &Value::Null,
            )
            .await;
        let picture = base64::engine::general_purpose::STANDARD
            .decode(data.as_str().unwrap())
            .unwrap();
        std::fs::write(std::path::Path::new(&folder).join(name), picture).unwrap();
    }

    /// Ends the browser. The page must have logged nothing: no error, and nothing that its policy refused.
    pub(crate) async fn end(self) {
        let log = self.post("se/log", json!({ "type": "browser" })).await;
        assert_eq!(log, json!([]), "the browser's log");
        self.send("DELETE", &format!("/session/{}", self.session), &Value::Null)
            .await;
    }
}
