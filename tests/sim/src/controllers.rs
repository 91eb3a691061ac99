//! The simulation of controllers: replicas with leader election whose reconciler writes to the server, under
//! faults. The guarantees C1 to C7 are checked, and in the end the children must equal their parents' specs.
//!
//! Every object is a ConfigMap: parents list the children they want, settings change the values of the
//! children of several parents, and children are what the reconciler creates, updates and deletes.

mod clock;
mod draw;
mod judge;
mod life;
mod network;
mod objects;
mod plan;
mod process;
mod reconciler;
mod replica;
mod world;

pub use plan::ControllerPlan;
