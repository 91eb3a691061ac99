//! The pages: the overview, one informer, one controller. `page.html` is the frame around them.

mod controller;
mod informer;
mod overview;
mod parts;

use super::html::Html;

pub(super) use controller::page as controller;
pub(super) use informer::page as informer;
pub(super) use overview::page as overview;

/// Style, script and the places `{{title}}`, `{{main}}` and `{{nonce}}`.
const FRAME: &str = include_str!("page.html");

/// A page without its frame.
pub(super) struct Page {
    title: String,
    main: Html,
}

impl Page {
    fn new(title: String, main: Html) -> Self {
        Self { title, main }
    }

    /// Puts the page into its frame. `nonce` allows its style and its script.
    pub(super) fn fill(self, nonce: &str) -> String {
        let mut title = Html::default();
        title.text(&self.title);
        let (title, main) = (title.into_string(), self.main.into_string());
        let mut page = String::with_capacity(FRAME.len() + main.len());
        let mut rest = FRAME;
        // Only the frame is searched for places, never what is put into them.
        while let Some((before, after)) = rest.split_once("{{") {
            page.push_str(before);
            let Some((place, after)) = after.split_once("}}") else {
                break;
            };
            page.push_str(match place {
                "title" => &title,
                "main" => &main,
                _ => nonce,
            });
            rest = after;
        }
        page.push_str(rest);
        page
    }
}

/// A page with one sentence.
pub(super) fn message(title: &str, text: &str) -> Page {
    let mut main = Html::default();
    main.raw("<h1>")
        .text(title)
        .raw("</h1><p>")
        .text(text)
        .raw("</p><p>");
    main.raw("<a href=\"?\">All informers</a></p>");
    Page::new(title.to_owned(), main)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_filled_once_and_texts_are_not_places() {
        let page = message("{{main}}<", "{{nonce}}").fill("123");
        assert_eq!(page.matches("nonce=\"123\"").count(), 2, "style and script");
        assert!(page.contains("<title>{{main}}&lt;</title>"), "{page}");
        assert!(page.contains("<main data-title=\"{{main}}&lt;\">"), "{page}");
        assert!(page.contains("<p>{{nonce}}</p>"), "{page}");
        assert!(page.ends_with("</html>\n"));
    }

    #[test]
    fn the_frame_loads_nothing_from_elsewhere() {
        for outside in ["http:", "https:", "//cdn", "@import", "url("] {
            assert!(!FRAME.contains(outside), "{outside}");
        }
        assert_eq!(FRAME.matches(" src=").count(), 0);
        // A policy allows no inline handlers or styles.
        for inline in [" style=\"", " onclick=\"", " onload=\"", "javascript:"] {
            assert!(!FRAME.contains(inline), "{inline}");
        }
    }
}
