//! Ascent to a maximum by the signs of the gradient (resilient propagation), which needs no step size.

use std::ops::Range;

/// The first step, and the least and greatest.
const FIRST: f64 = 0.2;
const STEP: Range<f64> = 1e-4..1.0;

/// The factors of a step after a gradient of the same sign, and after one of the other sign.
const FASTER: f64 = 1.3;
const SLOWER: f64 = 0.5;

/// Climbs from a start within bounds, and returns the highest value with its place; `None` if the start has no value.
pub fn climb(
    start: Vec<f64>,
    bounds: Range<f64>,
    steps: usize,
    height: impl Fn(&[f64]) -> Option<(f64, Vec<f64>)>,
) -> Option<(f64, Vec<f64>)> {
    let mut place = start;
    let mut strides = vec![FIRST; place.len()];
    let mut before = vec![0.0; place.len()];
    let mut best: Option<(f64, Vec<f64>)> = None;
    for _ in 0..steps {
        let Some((value, gradient)) = height(&place) else { break };
        if best.as_ref().is_none_or(|(highest, _)| value > *highest) {
            best = Some((value, place.clone()));
        }
        for (at, slope) in gradient.into_iter().enumerate() {
            let agrees = slope * before[at];
            let factor = if agrees > 0.0 {
                FASTER
            } else if agrees < 0.0 {
                SLOWER
            } else {
                1.0
            };
            strides[at] = (strides[at] * factor).clamp(STEP.start, STEP.end);
            // After a change of sign the next gradient decides anew.
            let slope = if agrees < 0.0 { 0.0 } else { slope };
            let sign = if slope > 0.0 {
                1.0
            } else if slope < 0.0 {
                -1.0
            } else {
                0.0
            };
            place[at] = (place[at] + sign * strides[at]).clamp(bounds.start, bounds.end);
            before[at] = slope;
        }
    }
    best
}
