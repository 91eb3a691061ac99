//! Where a value of a tree is, without its key.

use super::keys::{Keys as _, Packed};
use super::node::FAN_OUT;

/// The position of a child in each branch from the root on, and of the value in its leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct Path {
    /// One position after the other, the root's in the lowest bits.
    positions: u64,
    /// Whether a position did not fit: then the path leads nowhere.
    is_lost: bool,
}

/// The size of one position.
const BITS: u32 = 5;

/// How many positions fit. A branch has at least an eighth of [`FAN_OUT`] children, so no tree that fits into
/// memory is as deep.
const LEVELS: u32 = u64::BITS / BITS;

const _: () = assert!(FAN_OUT <= 1 << BITS && Packed::LEAF <= 1 << BITS);

impl Path {
    /// Sets the position in the node of this level.
    pub(super) fn set(&mut self, level: u32, at: usize) {
        match u64::try_from(at) {
            Ok(at) if level < LEVELS && at < 1 << BITS => self.positions |= at << (level * BITS),
            _ => self.is_lost = true,
        }
    }

    /// The position in the node of this level.
    pub(super) fn get(self, level: u32) -> Option<usize> {
        if self.is_lost || level >= LEVELS {
            return None;
        }
        usize::try_from(self.positions >> (level * BITS) & ((1 << BITS) - 1)).ok()
    }
}
