//! `Debug` for errors: prints the message, because that is how `main` shows an error it returns.

use std::error::Error;
use std::fmt;

/// Prints an error's message and, below it, its sources.
///
/// `fn main() -> Result<(), Box<dyn Error>>` prints an error by `Debug`. A derived implementation would show
/// names of variants and fields, which do not help users of the program.
#[doc(hidden)]
pub fn debug_error(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{error}")?;
    let mut source = error.source();
    while let Some(cause) = source {
        write!(f, "\n\nCaused by:\n    {cause}")?;
        source = cause.source();
    }
    Ok(())
}

/// Implements `Debug` for error types: prints their message and sources.
#[doc(hidden)]
#[macro_export]
macro_rules! __debug_is_the_message {
    ($($error:ty),+ $(,)?) => {$(
        impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::__debug_error(self, f)
            }
        }
    )+};
}

#[cfg(test)]
mod tests {
    #[derive(thiserror::Error)]
    #[error("the outer")]
    struct Outer(#[source] Inner);

    #[derive(thiserror::Error)]
    #[error("the inner")]
    struct Inner;

    crate::__debug_is_the_message!(Outer, Inner);

    #[test]
    fn an_error_prints_as_its_message_and_its_causes() {
        let error: Box<dyn std::error::Error> = Box::new(Outer(Inner));
        assert_eq!(format!("{error:?}"), "the outer\n\nCaused by:\n    the inner");
    }
}
