//! The current position of a lowering: the enclosing loops, and the items of each level so far.

use super::values::Typed;
use egg::Id;
use ember_targets::dlc::{Action, RegisterId, Stmt, StreamId, UnitId};
use std::collections::BTreeMap;

/// An enclosing loop. The first frame is the program itself.
pub struct Frame {
    /// The variable of the loop; `None` for the program.
    pub var: Option<Id>,
    /// The units that run the loop.
    pub kind: FrameKind,
    /// The streams that this level has popped, with their registers.
    pub popped: BTreeMap<StreamId, RegisterId>,
    /// The streams that this level prefetches, with the registers that it loads them into. The key includes the number
    /// of lanes if one element is loaded into every lane.
    pub fetched: BTreeMap<(StreamId, Option<u32>), RegisterId>,
    /// The values that this level computes once, by their terms.
    pub(super) held: BTreeMap<Id, Typed>,
}

/// The units that run a loop.
pub enum FrameKind {
    /// The access unit alone: the program, or a loop.
    Access(Level),
    /// Both units.
    Walk(Walk),
    /// The execute unit alone, with the register of the variable.
    Execute(RegisterId),
}

/// A level of the access unit: the items of one iteration.
#[derive(Default)]
pub struct Level {
    /// The traversal unit; `None` for the program.
    pub unit: Option<UnitId>,
    /// The items of the level, in order.
    pub items: Vec<Item>,
    /// Its callbacks, in the order of their items.
    pub callbacks: Vec<Callback>,
    /// The last callback that operands and statements can still join.
    pub joinable: Option<usize>,
    /// The callback at the unit's `beg`.
    pub beg: Callback,
    /// The counter of the loop on the execute unit, if something uses it.
    pub counter: Option<Counter>,
}

/// An item of a level.
pub enum Item {
    /// A callback with its operands, as its position in [`Level::callbacks`].
    Callback(usize),
    /// An action other than a callback.
    Action(Action),
}

/// A callback under construction.
#[derive(Default)]
pub struct Callback {
    /// The prefetches and loads before its token is pushed.
    pub fetches: Fetches,
    /// The streams that are popped on entry to the case.
    pub pops: Vec<(StreamId, RegisterId)>,
    /// The actions that the access unit marshals after the popped streams.
    pub actions: Vec<Action>,
    /// The statements that the execute unit runs after the pops and loads.
    pub body: Vec<Stmt>,
}

/// The prefetches of the access unit and the corresponding loads, which follow the pops.
#[derive(Default)]
pub struct Fetches {
    /// The actions of the access unit.
    pub prefetches: Vec<Action>,
    /// The loads of the execute unit, and the computation of held values from them.
    pub loads: Vec<Stmt>,
}

/// The counter of an access loop on the execute unit.
pub struct Counter {
    /// The register of the counter.
    pub register: RegisterId,
    /// The last item of the level that uses it.
    pub last_use: usize,
    /// True if the loop under construction, which is not an item yet, uses the counter.
    pub used_inside: bool,
}

/// A walk under construction.
pub struct Walk {
    /// The traversal unit.
    pub unit: UnitId,
    /// The register of the index.
    pub register: RegisterId,
    /// The prefetches and loads of each iteration, before it marshals anything.
    pub fetches: Fetches,
    /// The streams that are popped at the start of each iteration.
    pub pops: Vec<(StreamId, RegisterId)>,
    /// The actions that each iteration marshals after the popped streams.
    pub actions: Vec<Action>,
}

impl Frame {
    /// Returns the traversal unit of the loop, if it has one.
    pub fn unit(&self) -> Option<UnitId> {
        match &self.kind {
            FrameKind::Access(level) => level.unit,
            FrameKind::Walk(walk) => Some(walk.unit),
            FrameKind::Execute(_) => None,
        }
    }
}

impl Level {
    /// Returns the last callback that can be joined, or a new one at the end.
    pub fn callback(&mut self) -> &mut Callback {
        let at = match self.joinable {
            Some(at) => at,
            None => self.new_callback(),
        };
        &mut self.callbacks[at]
    }

    /// Appends an action. If it is a loop that uses the counter inside, it becomes the counter's last use.
    pub fn perform(&mut self, action: Action) {
        self.items.push(Item::Action(action));
        if let Some(counter) = &mut self.counter
            && std::mem::take(&mut counter.used_inside)
        {
            counter.last_use = self.items.len() - 1;
        }
    }

    /// Starts a callback at the end, and returns its position among the callbacks.
    pub fn new_callback(&mut self) -> usize {
        self.callbacks.push(Callback::default());
        let at = self.callbacks.len() - 1;
        self.items.push(Item::Callback(at));
        self.joinable = Some(at);
        at
    }
}

impl Callback {
    /// Returns true if the callback does nothing.
    pub fn is_empty(&self) -> bool {
        let loads = &self.fetches.loads;
        self.pops.is_empty() && loads.is_empty() && self.actions.is_empty() && self.body.is_empty()
    }
}
