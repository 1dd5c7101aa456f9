//! Requests at a fixed rate, whether the service keeps up or not.

use axum::body::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Old links to products that are gone, the same again and again.
const OLD_LINKS: u64 = 1_000;
/// Requests under way at a time; the others wait, and their waiting counts.
const CONNECTIONS: usize = 128;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Caller {
    /// A customer, for a product. Few are popular: the n-th in proportion to 1/n (Zipf's law).
    Customer,
    /// Somebody with an old link.
    OldLink,
    /// Somebody who makes up ids, each another one.
    Attacker,
}

/// Requests a second.
#[derive(Clone, Copy)]
pub struct Rates {
    pub customers: u64,
    pub old_links: u64,
    pub attackers: u64,
}

/// An answer: when it was due, and the microseconds from then until it came.
#[derive(Clone, Copy)]
pub struct Answer {
    pub at: Instant,
    pub caller: Caller,
    pub microseconds: u32,
}

/// The generator of Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014)
/// as a function of its counter: a bijection whose results look random.
fn mix(counter: u64) -> u64 {
    let x = counter.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The id of product n: nobody guesses it, and an attacker's is never that of a product.
pub fn product(n: u64) -> i64 {
    (mix(n + 1) >> 1) as i64
}

/// Requests to one service, and its answers.
#[derive(Clone)]
pub struct Load {
    client: Client<HttpConnector, Empty<Bytes>>,
    address: SocketAddr,
    products: u64,
    permits: Arc<Semaphore>,
    made: Arc<AtomicU64>,
    answers: Arc<Mutex<Vec<Answer>>>,
    wrong: Arc<AtomicU64>,
}

impl Load {
    /// Load for the service at that address, which has this many products.
    pub fn on(address: SocketAddr, products: u64) -> Load {
        Load {
            client: Client::builder(TokioExecutor::new()).build_http(),
            address,
            products,
            permits: Arc::new(Semaphore::new(CONNECTIONS)),
            made: Arc::default(),
            answers: Arc::default(),
            wrong: Arc::default(),
        }
    }

    /// Asks at these rates for that long, and waits until every request is answered.
    pub async fn run(&self, rates: Rates, duration: Duration) {
        let started = Instant::now();
        let callers = [
            (Caller::Customer, rates.customers),
            (Caller::OldLink, rates.old_links),
            (Caller::Attacker, rates.attackers),
        ];
        let mut asked = [0; 3];
        let mut tick = tokio::time::interval(Duration::from_millis(1));
        while started.elapsed() < duration {
            tick.tick().await;
            for ((caller, rate), asked) in callers.into_iter().zip(&mut asked) {
                let due = (started.elapsed().as_secs_f64() * rate as f64) as u64;
                while *asked < due {
                    let at = started + Duration::from_secs_f64(*asked as f64 / rate as f64);
                    tokio::spawn(self.clone().ask(caller, at));
                    *asked += 1;
                }
            }
        }
        let all = self.permits.acquire_many(CONNECTIONS as u32).await;
        drop(all);
    }

    async fn ask(self, caller: Caller, at: Instant) {
        let Ok(_permit) = self.permits.acquire().await else {
            return;
        };
        let id = self.id(caller);
        let uri = format!("http://{}/products/{id}", self.address);
        let uri = uri.parse().expect("an address and a number");
        let answered = match self.client.get(uri).await {
            Ok(reply) => {
                let status = reply.status().as_u16();
                reply.into_body().collect().await.is_ok().then_some(status)
            }
            Err(_) => None,
        };
        let right = if caller == Caller::Customer { 200 } else { 404 };
        if answered != Some(right) {
            self.wrong.fetch_add(1, Relaxed);
        }
        let microseconds = at.elapsed().as_micros() as u32;
        let answer = Answer { at, caller, microseconds };
        self.answers.lock().expect("nobody panics").push(answer);
    }

    fn id(&self, caller: Caller) -> i64 {
        let made = self.made.fetch_add(1, Relaxed);
        let random = mix(made ^ 0x5EED_0000_0000);
        match caller {
            Caller::Customer => {
                let share = (random >> 11) as f64 / (1_u64 << 53) as f64;
                product((self.products as f64).powf(share) as u64 - 1)
            }
            Caller::OldLink => product(self.products + random % OLD_LINKS),
            Caller::Attacker => product(self.products + OLD_LINKS + made),
        }
    }

    /// The answers so far.
    pub fn answers(&self) -> Vec<Answer> {
        self.answers.lock().expect("nobody panics").clone()
    }

    /// Answers that were not right: a product was not found, or none answered at all.
    pub fn wrong(&self) -> u64 {
        self.wrong.load(Relaxed)
    }
}
