//! Tests of the recorder that other tests rely on.

use informer_it::recorder::Recorder;

use crate::support::{informer_of, server_with};

#[tokio::test(start_paused = true)]
async fn the_events_of_one_handler_are_consistent_and_those_of_two_are_not() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let (recorder, registration) = Recorder::of(&informer).unwrap();
    informer.start().unwrap();
    registration.synced().await.unwrap();
    assert_eq!(recorder.summary(), ["initial a"]);
    assert_eq!(recorder.final_state().unwrap().len(), 1);

    recorder.add_to(&informer).synced().await.unwrap();
    let error = recorder.final_state().unwrap_err();
    assert!(error.contains("added twice"), "{error}");
    informer.shutdown().await;
}
