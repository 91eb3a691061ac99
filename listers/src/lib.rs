//! Typed listers over the indexed store of an informer.
