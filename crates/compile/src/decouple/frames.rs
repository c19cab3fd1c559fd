//! Where the lowering stands: the loops around it, and what each level has pushed so far.

use super::values::Typed;
use egg::Id;
use ember_targets::dlc::{Action, RegisterId, Stmt, StreamId, UnitId};
use std::collections::BTreeMap;

/// A loop around the current point. The first frame is the program itself.
pub struct Frame {
    /// The loop's variable; `None` for the program.
    pub var: Option<Id>,
    /// Which units run the loop.
    pub kind: FrameKind,
    /// The streams whose value this level has popped into a register.
    pub popped: BTreeMap<StreamId, RegisterId>,
    /// The streams that this level prefetches, and the registers that it loads them into; the lanes
    /// where one element is loaded into each.
    pub fetched: BTreeMap<(StreamId, Option<u32>), RegisterId>,
    /// The values that this level computes once, by their terms.
    pub(super) held: BTreeMap<Id, Typed>,
}

/// Which units run a loop.
pub enum FrameKind {
    /// The access unit: the program, or a loop of its own.
    Access(Level),
    /// Both.
    Walk(Walk),
    /// The execute unit alone; its variable's register.
    Execute(RegisterId),
}

/// A level of the access unit: what one iteration performs.
#[derive(Default)]
pub struct Level {
    /// The unit; `None` for the program.
    pub unit: Option<UnitId>,
    /// What the level performs, in order.
    pub items: Vec<Item>,
    /// Its callbacks, in the order of their items.
    pub callbacks: Vec<Callback>,
    /// The last callback that operands and statements may still join.
    pub joinable: Option<usize>,
    /// The callback at the unit's `beg`.
    pub beg: Callback,
    /// The unit's count on the execute unit, if something asks for it.
    pub counter: Option<Counter>,
}

/// Something that a level performs.
pub enum Item {
    /// A callback with its operands: its place in [`Level::callbacks`].
    Callback(usize),
    /// Anything else.
    Action(Action),
}

/// A callback that is being put together.
#[derive(Default)]
pub struct Callback {
    /// What is read ahead before its token is pushed.
    pub fetches: Fetches,
    /// Popped when the case is entered.
    pub pops: Vec<(StreamId, RegisterId)>,
    /// What the access unit marshals after those.
    pub actions: Vec<Action>,
    /// What the execute unit runs after them.
    pub body: Vec<Stmt>,
}

/// What the access unit reads ahead, and the loads of it, which follow what is popped.
#[derive(Default)]
pub struct Fetches {
    /// By the access unit.
    pub prefetches: Vec<Action>,
    /// By the execute unit, and what it computes of them to be held in registers.
    pub loads: Vec<Stmt>,
}

/// The execute unit's count of a loop of the access unit.
pub struct Counter {
    /// Holds the count.
    pub register: RegisterId,
    /// The last item of the level that uses it.
    pub last_use: usize,
    /// Whether the loop that is being put together, which is no item yet, uses it.
    pub used_inside: bool,
}

/// A walk that is being put together.
pub struct Walk {
    /// The unit.
    pub unit: UnitId,
    /// Holds the index.
    pub register: RegisterId,
    /// What each iteration reads ahead before it marshals anything.
    pub fetches: Fetches,
    /// Popped at the start of each iteration.
    pub pops: Vec<(StreamId, RegisterId)>,
    /// What each iteration marshals after those.
    pub actions: Vec<Action>,
}

impl Frame {
    /// The traversal unit of the loop, if it has one.
    pub fn unit(&self) -> Option<UnitId> {
        match &self.kind {
            FrameKind::Access(level) => level.unit,
            FrameKind::Walk(walk) => Some(walk.unit),
            FrameKind::Execute(_) => None,
        }
    }
}

impl Level {
    /// The last callback that can be joined, or a new one here.
    pub fn callback(&mut self) -> &mut Callback {
        let at = match self.joinable {
            Some(at) => at,
            None => self.new_callback(),
        };
        &mut self.callbacks[at]
    }

    /// Appends an action; a loop with all that it uses.
    pub fn perform(&mut self, action: Action) {
        self.items.push(Item::Action(action));
        if let Some(counter) = &mut self.counter
            && std::mem::take(&mut counter.used_inside)
        {
            counter.last_use = self.items.len() - 1;
        }
    }

    /// Starts a callback here and returns its place among the callbacks.
    pub fn new_callback(&mut self) -> usize {
        self.callbacks.push(Callback::default());
        let at = self.callbacks.len() - 1;
        self.items.push(Item::Callback(at));
        self.joinable = Some(at);
        at
    }
}

impl Callback {
    /// Whether it would do nothing.
    pub fn is_empty(&self) -> bool {
        let loads = &self.fetches.loads;
        self.pops.is_empty() && loads.is_empty() && self.actions.is_empty() && self.body.is_empty()
    }
}
