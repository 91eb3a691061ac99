//! What an operator sees: status, health, errors and rights.

mod health;
mod rights;
mod states;
mod status;
