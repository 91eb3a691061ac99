//! Reduces a failing plan to the steps it needs to fail.

use crate::plan::Keep;
use crate::playable::Playable;
use crate::verdict::Violation;

/// The most runs of one search.
const RUNS: usize = 600;

/// Returns the smallest plan found that violates the same guarantee, and its violation. Steps are removed in
/// ever smaller groups, as long as the remaining plan still fails.
pub fn shrink<P: Playable>(plan: &P, violation: &Violation) -> (P, Violation) {
    let mut runs = 0;
    let mut smallest = (plan.clone(), violation.clone());
    // Steps after the violation cannot have caused it.
    let numbers = plan.numbers().into_iter();
    let until: Keep = numbers.filter(|number| *number <= violation.step).collect();
    try_plan(plan.kept(&until), &mut smallest, &mut runs);
    let mut piece = smallest.0.numbers().len().div_ceil(2);
    while piece > 0 && runs < RUNS {
        let mut at = 0;
        let mut cut = false;
        while at < smallest.0.numbers().len() && runs < RUNS {
            let numbers = smallest.0.numbers().into_iter();
            let without: Keep = numbers
                .enumerate()
                .filter(|(index, _)| !(at..at + piece).contains(index))
                .map(|(_, number)| number)
                .collect();
            if try_plan(smallest.0.kept(&without), &mut smallest, &mut runs) {
                cut = true;
            } else {
                at += piece;
            }
        }
        if !cut || piece > 1 {
            piece /= 2;
        }
    }
    smallest
}

fn try_plan<P: Playable>(plan: P, smallest: &mut (P, Violation), runs: &mut usize) -> bool {
    *runs += 1;
    match plan.run().violation {
        Some(violation) if violation.guarantee == smallest.1.guarantee => {
            *smallest = (plan, violation);
            true
        }
        _ => false,
    }
}
