//! Writes HTML. Markup is a literal of this program, and everything else is escaped.

use std::fmt::{self, Display, Write as _};

/// A piece of HTML.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Appends markup. Only literals are accepted, so text from elsewhere cannot become markup.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends a text, as content of an element or within a quoted attribute.
    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        // Writing to a string does not fail, and neither does any `Display` that is used here.
        let _written = write!(Escaped(&mut self.0), "{text}");
        self
    }

    /// Appends a link within the page: a reference of only a query, which keeps the path of the page.
    pub(super) fn link(&mut self, query: &[(&str, &str)], label: impl Display) -> &mut Self {
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(query)
            .finish();
        self.raw("<a href=\"?")
            .text(query)
            .raw("\">")
            .text(label)
            .raw("</a>")
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Replaces the characters that have a meaning in elements and in quoted attributes.
struct Escaped<'s>(&'s mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                character => self.0.push(character),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_element_or_attribute() {
        let mut html = Html::default();
        html.raw("<b title=\"").text("\"'><i>&").raw("\">");
        assert_eq!(html.into_string(), "<b title=\"&quot;&#39;&gt;&lt;i&gt;&amp;\">");
    }

    #[test]
    fn a_link_keeps_what_it_names() {
        let mut html = Html::default();
        html.link(&[("informer", "pods (\"A\")#2"), ("after", "a&b/<c>")], "<next>");
        assert_eq!(
            html.into_string(),
            "<a href=\"?informer=pods+%28%22A%22%29%232&amp;after=a%26b%2F%3Cc%3E\">&lt;next&gt;</a>"
        );
    }
}
