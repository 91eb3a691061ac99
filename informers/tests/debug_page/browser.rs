//! The page in a headless Chromium: it refreshes itself, leads to details, and runs nothing from outside.
//!
//! `cargo xtask ci browser` runs these tests if chromedriver is installed. The variable `SCREENSHOTS` names a
//! folder for pictures of the pages.

mod cluster;
mod driver;

use informers::debug;
use serde_json::json;

use crate::hostile;
use cluster::Cluster;
use driver::Browser;

/// The text of one cell of the row of an informer.
fn cell(informer: &str, column: &str) -> String {
    format!(
        "document.querySelector('a[href=\"?informer={informer}\"]').closest('tr')\
         .querySelector('[data-label=\"{column}\"]').innerText"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs chromedriver; `cargo xtask ci browser` runs it"]
async fn the_page_refreshes_itself_and_keeps_what_the_user_did() {
    let cluster = Cluster::start().await;
    let browser = Browser::start().await;
    browser.open(&cluster.url()).await;
    assert_eq!(browser.value(&cell("configmaps", "Objects")).await, "240");
    browser
        .value("document.querySelector('a[href=\"?informer=configmaps\"]').focus()")
        .await;
    cluster.add_config_maps(7);
    browser
        .until(&format!("{} === '247'", cell("configmaps", "Objects")))
        .await;
    browser
        .until("Number(document.body.dataset.refreshes) >= 2")
        .await;
    assert_eq!(
        browser.value("document.activeElement.innerText").await,
        "configmaps",
        "the focus survives"
    );
    // Paused, it does not change.
    browser.click("#live button").await;
    browser
        .until("document.querySelector('#live').innerText.startsWith('paused')")
        .await;
    let refreshes = browser.value("document.body.dataset.refreshes").await;
    cluster.add_config_maps(1);
    browser.click("#live button").await;
    browser
        .until(&format!("{} === '248'", cell("configmaps", "Objects")))
        .await;
    assert_ne!(browser.value("document.body.dataset.refreshes").await, refreshes);
    browser.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs chromedriver; `cargo xtask ci browser` runs it"]
async fn clicks_lead_to_handlers_indexes_keys_and_controllers() {
    let cluster = Cluster::start().await;
    let browser = Browser::start().await;
    browser.open(&cluster.url()).await;
    browser.click("a[href='?informer=configmaps']").await;
    browser
        .until("document.querySelector('h1').innerText === 'configmaps'")
        .await;
    let text = browser.value("document.querySelector('main').innerText").await;
    let text = text.as_str().unwrap();
    for part in [
        "settings reloader",
        "slow exporter",
        "by team",
        "all namespaces",
        "240",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let keys = "document.querySelectorAll('.keys li').length";
    assert_eq!(browser.value(keys).await, 100);
    browser.click(".pages a:nth-of-type(2)").await;
    browser.until("location.search.includes('after=')").await;
    browser.click(".pages a:nth-of-type(2)").await;
    browser.until(&format!("{keys} === 40")).await;
    browser.write("input[name=from]", "shop/item-1").await;
    browser.click("form button").await;
    browser.until("location.search.includes('from=')").await;
    let first = "document.querySelector('.keys li').innerText";
    assert_eq!(browser.value(first).await, "shop/item-100");
    browser.click(".path a").await;
    browser.click("a[href='?controller=exposer']").await;
    browser
        .until("document.querySelector('h1').innerText === 'exposer'")
        .await;
    browser
        .until("document.querySelector('main').innerText.includes('payments/item-')")
        .await;
    browser.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs chromedriver; `cargo xtask ci browser` runs it"]
async fn hostile_texts_are_shown_and_run_nothing() {
    let factory = hostile::factory().await;
    let server = debug::serve(&factory, 0).await.unwrap();
    let browser = Browser::start().await;
    browser.open(&server.url()).await;
    browser.click("a[href='?informer=configmaps']").await;
    browser
        .until("document.querySelector('h1').innerText === 'configmaps'")
        .await;
    browser
        .until("Number(document.body.dataset.refreshes) >= 1")
        .await;
    assert_eq!(browser.value("typeof window.owned").await, "undefined");
    let names = "[...document.querySelectorAll('td[data-label=Handler]')].map((cell) => cell.innerText)";
    assert_eq!(browser.value(names).await, json!(hostile::ATTACKS));
    browser.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs chromedriver; `cargo xtask ci browser` runs it"]
async fn the_page_fits_narrow_and_wide_light_and_dark_screens() {
    let cluster = Cluster::start().await;
    cluster.fill_charts().await;
    let browser = Browser::start().await;
    for (page, name) in [
        ("", "overview"),
        ("?informer=configmaps", "informer"),
        ("?controller=exposer", "controller"),
    ] {
        for (scheme, light) in [("light", true), ("dark", false)] {
            browser.color_scheme(scheme).await;
            for (width, height) in [(1_280, 800), (400, 860)] {
                browser.size(width, height).await;
                browser.open(&format!("{}{page}", cluster.url())).await;
                let overflow = browser
                    .value("document.documentElement.scrollWidth - innerWidth")
                    .await;
                assert!(
                    overflow.as_i64().unwrap() <= 0,
                    "{name}, {scheme}, {width}: {overflow}"
                );
                let background = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g)[0] > 128";
                assert_eq!(browser.value(background).await, light, "{name}, {scheme}");
                browser
                    .picture(&format!("debug-{name}-{scheme}-{width}.png"))
                    .await;
            }
        }
    }
    browser.end().await;
}

/// A page without scripts is loaded again by its browser.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs chromedriver; `cargo xtask ci browser` runs it"]
async fn the_page_works_without_scripts() {
    let cluster = Cluster::start().await;
    let browser = Browser::start().await;
    browser
        .command("Emulation.setScriptExecutionDisabled", json!({ "value": true }))
        .await;
    browser.open(&cluster.url()).await;
    assert_eq!(
        browser.value("document.querySelector('#live').innerText").await,
        "refreshes itself"
    );
    cluster.add_config_maps(3);
    browser
        .until(&format!("{} === '243'", cell("configmaps", "Objects")))
        .await;
    browser.click("a[href='?informer=configmaps']").await;
    browser
        .until("document.querySelectorAll('.keys li').length === 100")
        .await;
    browser.end().await;
}
