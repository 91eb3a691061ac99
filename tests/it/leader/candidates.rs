//! Three candidates with faulty networks and clocks: never two valid leaders at once.
//!
//! A seed decides everything. `LEADER_SEEDS=100..500` in the environment chooses other seeds.

use http::{Request, Response};
use informer_testing::ApiServer;
use kube::Client;
use kube::client::Body;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::*;

/// The rates of clocks. Their largest ratio is 1.1.
const RATES: [f64; 3] = [0.9535, 1.0, 1.0488];

/// The network of one process.
struct Network {
    random: SmallRng,
    weather: Weather,
}

#[derive(Clone, Copy, Debug)]
enum Weather {
    Good,
    /// Answers and requests are delayed, and some are lost.
    Bad,
    /// Nothing gets through.
    Cut,
}

/// What happens to one request.
struct Fate {
    before: Duration,
    after: Duration,
    is_request_lost: bool,
    is_answer_lost: bool,
}

impl Network {
    fn fate(&mut self) -> Fate {
        let random = &mut self.random;
        let mut delay = |longest: f64| Duration::from_secs_f64(random.random_range(0.0..longest));
        let (before, after) = match self.weather {
            Weather::Good => (delay(0.05), delay(0.05)),
            Weather::Bad => (delay(0.5), delay(0.9)),
            Weather::Cut => (delay(0.01), delay(0.01)),
        };
        let mut loss = |percent: f64| random.random_bool(percent / 100.0);
        let (is_request_lost, is_answer_lost) = match self.weather {
            Weather::Good => (false, false),
            Weather::Bad => (loss(10.0), loss(10.0)),
            Weather::Cut => (true, true),
        };
        Fate {
            before,
            after,
            is_request_lost,
            is_answer_lost,
        }
    }
}

struct Process {
    election: LeaderElection,
    clock: TestClock,
    network: Arc<Mutex<Network>>,
    leadership: Mutex<Option<Leadership>>,
    is_suspended: Mutex<bool>,
}

impl Process {
    fn new(server: &ApiServer, number: u64, random: &mut SmallRng) -> Arc<Self> {
        let network = Arc::new(Mutex::new(Network {
            random: SmallRng::seed_from_u64(random.random()),
            weather: Weather::Good,
        }));
        let clock = TestClock::with_rate(RATES[random.random_range(0..RATES.len())]);
        // The longest deadline that this lease allows, and requests that may take a quarter of it.
        let election = LeaderElection::new(client(server, &network), "default", "lock")
            .identity(format!("p{number}"))
            .seed(random.random())
            .lease_duration(seconds(4))
            .renew_deadline(Duration::from_millis(3600))
            .retry_period(seconds(1))
            .clock(clock.clone());
        Arc::new(Self {
            election,
            clock,
            network,
            leadership: Mutex::default(),
            is_suspended: Mutex::default(),
        })
    }

    /// Leads, loses, campaigns again, for ever.
    async fn run(self: Arc<Self>, all: Arc<Mutex<Vec<Arc<Self>>>>, seed: u64) {
        loop {
            let leadership = lead(&self.election).await;
            *self.leadership.lock().unwrap() = Some(leadership.clone());
            check(&all.lock().unwrap(), seed);
            leadership.lost().await;
            // Drop the handle before the next campaign: a task ends with its last handle.
            *self.leadership.lock().unwrap() = None;
        }
    }

    /// Whether the process runs and believes that it leads.
    fn leads(&self) -> bool {
        let leadership = self.leadership.lock().unwrap().clone();
        !*self.is_suspended.lock().unwrap() && leadership.is_some_and(|leadership| leadership.is_valid())
    }

    async fn act(self: &Arc<Self>, random: &mut SmallRng) {
        let weather = |weather| self.network.lock().unwrap().weather = weather;
        match random.random_range(0..9) {
            0 | 1 => weather(Weather::Cut),
            2 | 3 => weather(Weather::Bad),
            4 | 5 => weather(Weather::Good),
            6 => self.clock.set_wall(random.random_range(-50.0..50.0)),
            7 => {
                let leadership = self.leadership.lock().unwrap().clone();
                if let Some(leadership) = leadership {
                    tokio::spawn(async move { leadership.resign().await });
                }
            }
            _ => {
                // Suspended: the network is frozen with it, and its monotonic clock stands still.
                let mut is_suspended = self.is_suspended.lock().unwrap();
                *is_suspended = !*is_suspended;
                if *is_suspended {
                    self.clock.suspend();
                } else {
                    self.clock.resume();
                }
                weather(if *is_suspended {
                    Weather::Cut
                } else {
                    Weather::Good
                });
            }
        }
    }
}

fn check(all: &[Arc<Process>], seed: u64) {
    let leaders: Vec<_> = (0..all.len()).filter(|number| all[*number].leads()).collect();
    assert!(
        leaders.len() <= 1,
        "seed {seed}: processes {leaders:?} lead at once"
    );
}

/// A client whose requests go through a network.
fn client(server: &ApiServer, network: &Arc<Mutex<Network>>) -> Client {
    let (network, service) = (network.clone(), server.service());
    let through = tower::service_fn(move |request: Request<Body>| {
        let (fate, service) = (network.lock().unwrap().fate(), service.clone());
        async move {
            let broken = || std::io::Error::other("the connection broke");
            tokio::time::sleep(fate.before).await;
            if fate.is_request_lost {
                return Err(broken().into());
            }
            // A request on its way arrives although the client has stopped to wait.
            let answer: Result<Response<_>, _> = tokio::spawn(service.oneshot(request)).await?;
            tokio::time::sleep(fate.after).await;
            match fate.is_answer_lost {
                true => Err(broken().into()),
                false => answer,
            }
        }
    });
    Client::new(through, "default")
}

async fn simulate(seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let server = ApiServer::start();
    let all: Vec<_> = (0..3)
        .map(|number| Process::new(&server, number, &mut random))
        .collect();
    let shared = Arc::new(Mutex::new(all.clone()));
    let runs: Vec<_> = all
        .iter()
        .map(|process| tokio::spawn(process.clone().run(shared.clone(), seed)))
        .collect();
    let mut led = 0;
    for _ in 0..60 {
        let process = &all[random.random_range(0..all.len())];
        process.act(&mut random).await;
        for _ in 0..random.random_range(1..60) {
            sleep(0.05).await;
            check(&all, seed);
            led += usize::from(all.iter().any(|process| process.leads()));
        }
        assert!(
            !runs.iter().any(tokio::task::JoinHandle::is_finished),
            "seed {seed}"
        );
    }
    assert!(led > 0, "seed {seed}: somebody leads now and then");
    // The faults stop: soon there is a leader.
    for process in &all {
        process.network.lock().unwrap().weather = Weather::Good;
        process.clock.resume();
        *process.is_suspended.lock().unwrap() = false;
    }
    sleep(30.0).await;
    assert!(
        all.iter().any(|process| process.leads()),
        "seed {seed}: nobody leads"
    );
    for run in runs {
        run.abort();
    }
    shared.lock().unwrap().clear();
}

#[tokio::test(start_paused = true)]
async fn there_are_never_two_leaders_at_once() {
    let seeds = std::env::var("LEADER_SEEDS").unwrap_or_else(|_| "0..15".to_owned());
    let (first, end) = seeds.split_once("..").expect("LEADER_SEEDS is like 0..15");
    for seed in first.parse().unwrap()..end.parse().unwrap() {
        simulate(seed).await;
    }
}

/// The check is able to fail: a leader that trusts its lease too long is found.
#[tokio::test(start_paused = true)]
async fn the_check_finds_two_leaders() {
    let server = ApiServer::start();
    let mut random = SmallRng::seed_from_u64(1);
    let all: Vec<_> = (0..2)
        .map(|number| Process::new(&server, number, &mut random))
        .collect();
    for process in &all {
        let leadership = process.election.campaign(CancellationToken::new());
        *process.leadership.lock().unwrap() = tokio::time::timeout(seconds(600), leadership).await.unwrap();
        server.delete(&lease(&serde_json::Value::Null)).unwrap();
    }
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&all, 0)));
    assert!(found.is_err());
}
