//! A file is read exactly as it was written, or refused.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;

use super::format::*;
use super::identity::Identity;
use super::*;

const LIMIT: u64 = 1 << 20;

fn object(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.resource_version = Some("7".to_owned());
    object
}

fn header(objects: u64) -> Header {
    Header {
        identity: Identity {
            resource: "configmaps".to_owned(),
            ..Identity::default()
        },
        version: "7".to_owned(),
        saved_at: 1_000_000,
        objects,
        continuation: Continuation::Watch,
    }
}

/// The bytes of a file with these objects.
fn written(names: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sub/x.warm");
    let size = write_file(&path, &header(names.len() as u64), LIMIT, |output| {
        for name in names {
            serde_json::to_writer(&mut *output, &object(name))?;
            output.write_all(b"\n")?;
        }
        Ok(())
    });
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(size.unwrap(), bytes.len() as u64);
    let files = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(files, 1, "no temporary file is left");
    bytes
}

fn read(bytes: &[u8]) -> Result<Vec<String>, Refused> {
    let (header, body) = verify(bytes)?;
    let limits = Limits {
        bytes: LIMIT,
        age: Duration::MAX,
    };
    let objects = read_body::<ConfigMap>(body, &header, &limits, read_objects)?;
    Ok(objects
        .iter()
        .filter_map(|object| object.metadata.name.clone())
        .collect())
}

/// Gives changed contents a correct trailer.
fn sealed(mut contents: Vec<u8>) -> Vec<u8> {
    let mut sum = flate2::Crc::new();
    sum.update(&contents);
    let length = contents.len() as u64;
    contents.extend_from_slice(&sum.sum().to_le_bytes());
    contents.extend_from_slice(&length.to_le_bytes());
    contents
}

#[test]
fn a_file_is_read_as_it_was_written() {
    assert_eq!(read(&written(&["a", "b"])).unwrap(), ["a", "b"]);
    assert_eq!(read(&written(&[])).unwrap(), Vec::<String>::new());
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let bytes = written(&["a", "b"]);
    for length in 0..bytes.len() {
        assert!(
            read(&bytes[..length]).is_err(),
            "cut to {length} of {}",
            bytes.len()
        );
    }
}

proptest! {
    #[test]
    fn a_file_with_changed_bytes_is_refused(place in any::<prop::sample::Index>(), change in 1..=u8::MAX) {
        let mut bytes = written(&["a", "b"]);
        let place = place.index(bytes.len());
        bytes[place] ^= change;
        prop_assert!(read(&bytes).is_err(), "byte {}", place);
    }

    #[test]
    fn any_bytes_are_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&bytes).is_err());
        prop_assert!(read(&sealed(bytes)).is_err());
    }
}

#[test]
fn a_file_of_another_format_is_refused_as_such() {
    let mut contents = written(&["a"]);
    contents.truncate(contents.len() - 12);
    contents[22] = b'9';
    assert!(matches!(read(&sealed(contents)), Err(Refused::Format)));
    assert!(matches!(
        read(b"some other file of some length"),
        Err(Refused::Format)
    ));
}

#[test]
fn a_header_that_promises_other_objects_is_refused() {
    for objects in [0, 1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.warm");
        write_file(&path, &header(objects), LIMIT, |output| {
            for name in ["a", "b"] {
                serde_json::to_writer(&mut *output, &object(name))?;
            }
            Ok(())
        })
        .unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(matches!(read(&bytes), Err(Refused::Damaged(_))), "{objects}");
    }
}

#[test]
fn a_file_past_its_limit_is_neither_written_nor_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.warm");
    let noise: Vec<u8> = (0..100_000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    let outcome = write_file(&path, &header(1), 10_000, |output| Ok(output.write_all(&noise)?));
    assert!(
        matches!(outcome, Err(Refused::TooLarge { limit: 10_000 })),
        "{outcome:?}"
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing is left"
    );
    std::fs::write(&path, &noise).unwrap();
    assert!(matches!(read_file(&path, 10_000), Err(Refused::TooLarge { .. })));
}

#[test]
fn contents_that_decompress_to_too_much_are_refused() {
    let zeros = vec![b' '; 10 << 20];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.warm");
    write_file(&path, &header(0), LIMIT, |output| Ok(output.write_all(&zeros)?)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let (mut header, body) = verify(&bytes).unwrap();
    header.objects = 1;
    let limits = Limits {
        bytes: 1_000,
        age: Duration::MAX,
    };
    assert!(read_body::<ConfigMap>(body, &header, &limits, read_objects).is_err());
}

#[test]
fn an_old_file_and_one_from_the_future_are_refused() {
    let limits = Limits {
        bytes: LIMIT,
        age: Duration::from_secs(100),
    };
    let age = |now: u64| header(0).age(UNIX_EPOCH + Duration::from_secs(now), &limits);
    assert_eq!(age(1_000_100).unwrap(), Duration::from_secs(100));
    assert!(matches!(age(1_000_101), Err(Refused::TooOld { .. })));
    assert_eq!(age(999_800).unwrap(), Duration::ZERO);
    assert!(matches!(age(900_000), Err(Refused::FromTheFuture)));
    let mut absurd = header(0);
    absurd.saved_at = u64::MAX;
    assert!(absurd.age(UNIX_EPOCH, &limits).is_err());
}

#[cfg(unix)]
#[test]
fn a_file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.warm");
    write_file(&path, &header(0), LIMIT, |_| Ok(())).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
