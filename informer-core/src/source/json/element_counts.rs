//! Counts the elements of JSON arrays before they are decoded.

use super::structure::Blocks;

/// How deep an array is scanned, which is as deep as serde_json decodes.
const DEPTH: usize = 128;

/// How many arrays within one are counted. Further ones have no count.
const ARRAYS: usize = 16 * 1024;

/// The numbers of elements of the arrays of a text.
///
/// An array is scanned when its number is requested, together with the arrays within it. So each byte is
/// scanned at most once, and what is in no array, or in an array that the decoder skips, is never scanned.
pub(super) struct ElementCounts<'t> {
    text: &'t [u8],
    /// The arrays that were scanned last, in the order of the text.
    arrays: Vec<Array>,
    /// The first of them that was not yet requested.
    next: usize,
    /// The end of the part that was scanned last.
    scanned: usize,
    /// What is open around the innermost array or object, while an array is scanned.
    outer: Vec<Open>,
}

struct Array {
    start: usize,
    elements: usize,
}

/// An array or an object whose end was not yet found.
#[derive(Clone, Copy, Default)]
struct Open {
    /// The index in `arrays`, if it is an array.
    array: Option<usize>,
    elements: usize,
}

impl<'t> ElementCounts<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self {
            text: text.as_bytes(),
            arrays: Vec::with_capacity(32),
            next: 0,
            scanned: 0,
            outer: Vec::with_capacity(16),
        }
    }

    /// Returns the number of elements of the array that is the value of a key. Keys must be requested in the
    /// order of the text. `key_end` is the address of the byte after the key.
    ///
    /// Returns `None` if the value is not an array, if it does not end, or if it is nested too deeply. If it
    /// is not valid JSON, the number has no meaning, but it is never larger than the array's text.
    pub(super) fn of_value(&mut self, key_end: usize) -> Option<usize> {
        let offset = key_end.checked_sub(self.text.as_ptr().addr())?;
        let rest = self.text.get(offset..)?;
        let rest = rest.strip_prefix(b"\"")?.trim_ascii_start();
        let array = rest.strip_prefix(b":")?.trim_ascii_start();
        if array.strip_prefix(b"[")?.trim_ascii_start().first() == Some(&b']') {
            return Some(0);
        }
        let start = self.text.len() - array.len();
        if start >= self.scanned {
            // If the array does not end or is nested too deeply, no further one is scanned.
            self.scanned = self.scan(start).unwrap_or_else(|| {
                self.arrays.clear();
                self.text.len()
            });
        }
        let arrays = &self.arrays[self.next..];
        let before = arrays.iter().position(|array| array.start >= start);
        self.next += before.unwrap_or(arrays.len());
        let array = self.arrays.get(self.next)?;
        (array.start == start).then_some(array.elements)
    }

    /// Scans an array. Returns its end.
    fn scan(&mut self, start: usize) -> Option<usize> {
        self.arrays.clear();
        self.next = 0;
        self.outer.clear();
        let mut inner = Open::default();
        for mut block in Blocks::from(self.text, start) {
            while let Some(bracket) = block.next() {
                inner.elements += bracket.commas;
                if matches!(bracket.byte, b'[' | b'{') {
                    if self.outer.len() >= DEPTH {
                        return None;
                    }
                    let array =
                        (bracket.byte == b'[' && self.arrays.len() < ARRAYS).then_some(self.arrays.len());
                    if array.is_some() {
                        self.arrays.push(Array {
                            start: bracket.at,
                            elements: 0,
                        });
                    }
                    self.outer
                        .push(std::mem::replace(&mut inner, Open { array, elements: 1 }));
                } else {
                    if let Some(array) = inner.array {
                        self.arrays[array].elements = inner.elements;
                    }
                    inner = self.outer.pop()?;
                    if self.outer.is_empty() {
                        return Some(bracket.at);
                    }
                }
            }
            inner.elements += block.commas();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the count of the array that is the value of the first key, which is `k`.
    fn check(text: &str, expected: Option<usize>) {
        let key_end = 2 + text.find("\"k").expect("it has the key");
        let address = text.as_ptr().addr() + key_end;
        assert_eq!(ElementCounts::of(text).of_value(address), expected, "{text}");
    }

    #[test]
    fn commas_and_brackets_in_strings_are_not_counted() {
        // Each part gets to each position in a block.
        for length in 0..130 {
            for (escapes, expected) in [
                ("", 2),
                (r#"\","#, 2),
                (r#"\\"#, 2),
                (r#"\\\"]"#, 2),
                (r"\\\\", 2),
            ] {
                let filler = "x".repeat(length);
                check(
                    &format!(r#"{{"k":["{filler}{escapes}",[1,{{"a":2,"b":[3,4]}},5]]}}"#),
                    Some(expected),
                );
                check(
                    &format!(r#"{{"k" : [ "{escapes}{filler}" , 1 , "" ] }}"#),
                    Some(3),
                );
            }
        }
    }

    #[test]
    fn what_is_not_a_whole_array_has_no_count() {
        for (text, expected) in [
            (r#"{"k":[]}"#, Some(0)),
            (r#"{"k": [ ] }"#, Some(0)),
            (r#"{"k":[[]]}"#, Some(1)),
            (r#"{"k":{"a":[1]}}"#, None),
            (r#"{"k":null,"a":[1]}"#, None),
            (r#"{"k":[1,2"#, None),
            (r#"{"k":["]"#, None),
            (r#"{"k":["\"#, None),
            (r#"{"k":["#, None),
            (r#"{"k":"#, None),
            (r#"{"k"#, None),
        ] {
            check(text, expected);
        }
        let nested = |depth| format!(r#"{{"k":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        check(&nested(DEPTH), Some(1));
        check(&nested(DEPTH + 1), None);
        check(&nested(100_000), None);
    }

    #[test]
    fn the_number_of_remembered_arrays_is_bounded() {
        let arrays = vec![r#"{"a":[1,2,3]}"#; 2 * ARRAYS].join(",");
        let text = format!(r#"{{"k":[{arrays}],"l":[1]}}"#);
        let mut counts = ElementCounts::of(&text);
        let address = |offset: usize| text.as_ptr().addr() + offset;
        let mut of_keys = |key: &str| -> Vec<_> {
            let keys = text.match_indices(key);
            keys.map(|(at, _)| counts.of_value(address(at + 2))).collect()
        };
        assert_eq!(of_keys("\"k"), [Some(2 * ARRAYS)]);
        let inner = of_keys("\"a");
        // The outer array is one of those that are remembered.
        let (remembered, beyond) = inner.split_at(ARRAYS - 1);
        assert!(remembered.iter().all(|count| *count == Some(3)));
        assert!(beyond.iter().all(Option::is_none));
        assert_eq!(of_keys("\"l"), [Some(1)]);
    }
}
