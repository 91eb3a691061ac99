//! `cargo xtask codegen`: writes what is generated, or checks that it is fresh.
//!
//! For now that is one file, the inventory of kinds.

use std::path::PathBuf;

use informer_gen::inventory::{self, Resource, scan};

use crate::{Result, workspace};

/// Scans k8s-openapi and writes the table, if it changes.
pub(crate) fn write() -> Result<()> {
    let resources = scanned()?;
    let path = table();
    let text = inventory::render(&resources);
    if std::fs::read_to_string(&path).is_ok_and(|present| present == text) {
        println!("fresh: {} kinds in {}", resources.len(), path.display());
        return Ok(());
    }
    std::fs::write(&path, text)?;
    println!("wrote {} kinds to {}", resources.len(), path.display());
    Ok(())
}

/// Fails if [`write()`] would change anything, and says how to correct it.
pub(crate) fn check() -> Result<()> {
    let resources = scanned()?;
    let path = table();
    let text = std::fs::read_to_string(&path)?;
    scan::check_fresh(&text, &resources).map_err(|stale| {
        format!(
            "{} is stale: {stale}\n  to write it anew: cargo xtask codegen",
            path.display()
        )
    })?;
    println!("fresh: {} kinds in {}", resources.len(), path.display());
    Ok(())
}

fn scanned() -> Result<Vec<Resource>> {
    Ok(scan::scan(&workspace::sources_of("k8s-openapi")?)?)
}

fn table() -> PathBuf {
    workspace::root().join("informer-gen/inventory/resources.txt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_table_agrees_with_the_sources_of_k8s_openapi() {
        let scanned = scanned().expect("k8s-openapi is in the dependency graph");
        assert_eq!(scan::check_fresh(inventory::TABLE, &scanned), Ok(()));
    }
}
