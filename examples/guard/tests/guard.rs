//! The guard, in a short form of `make demo-guard`, and what it must not get wrong.

use redis::cmd;
use splitbloom_guard::cache::{Kind, Known};
use splitbloom_guard::load::{product, Rates};
use splitbloom_guard::trial::{self, Guard, Size, Stage};
use splitbloom_guard::{plot, report, web};
use std::future::Future;
use std::time::Duration;

const SIZE: Size = Size {
    products: 20_000,
    rates: Rates { customers: 200, old_links: 30, attackers: 600 },
    phase: Duration::from_secs(3),
    step: Duration::from_millis(100),
};
const PRODUCTS: u64 = 2_000;

async fn stage(kind: Kind) -> Stage {
    let stage = Stage::set(PRODUCTS, Some(kind), true).await.expect("a stage");
    assert!(stage.service.fill(|_| {}).await.expect("a filter"));
    stage
}

/// How many of a hundred ids of no product the cache knows to be absent; a few pass for products.
async fn known_absent(stage: &Stage) -> usize {
    count(stage, (1..=100).map(|n| -n), Known::Absent).await
}

async fn count(stage: &Stage, ids: impl Iterator<Item = i64>, expected: Known) -> usize {
    let mut count = 0;
    for id in ids {
        let known = stage.service.cache.look_up(id).await;
        count += usize::from(known.expect("an answer") == expected);
    }
    count
}

async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    for _ in 0..600 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what} does not happen");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_an_attack_the_database_gets_less_than_a_twentieth_of_the_queries_for_absent_ids() {
    let without = trial::run(Guard::Nothing, SIZE).await.expect("a run");
    let with = trial::run(Guard::Filter, SIZE).await.expect("a run");
    assert_eq!((without.wrong, with.wrong), (0, 0));
    let saved = report::saved(&without, &with, 1);
    assert!(saved >= 0.95, "{saved}");
    // It was lost under attack.
    let saved = report::saved(&without, &with, 3);
    assert!(saved >= 0.5, "{saved}");
    let runs = [without, with];
    println!("{}", report::table(&runs));
    let file = std::env::temp_dir().join(format!("guard-{}.svg", std::process::id()));
    plot::draw(&runs, &file).expect("a plot");
    std::fs::remove_file(file).expect("the plot");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_is_found_once_it_is_acknowledged_while_filters_are_rebuilt() {
    for kind in [Kind::Bloom, Kind::Counting] {
        let mut stage = stage(kind).await;
        let service = stage.service.clone();
        let rebuilding = tokio::spawn(async move {
            let mut rebuilt = 0;
            while rebuilt < 20 {
                rebuilt += usize::from(service.fill(|_| {}).await.expect("a filter"));
            }
        });
        let mut new = PRODUCTS;
        while !rebuilding.is_finished() {
            let id = product(new);
            assert_eq!(stage.service.find(id).await.expect("an answer"), None);
            stage.service.create(id, "new").await.expect("a product");
            cmd("DEL").arg(format!("row:{id}")).exec(&mut stage.cache).expect("the cache");
            let found = stage.service.find(id).await.expect("an answer");
            assert_eq!(found.as_deref(), Some("new"), "product {new}");
            new += 1;
        }
        rebuilding.await.expect("no panic");
        for n in PRODUCTS..new {
            let id = product(n);
            cmd("DEL").arg(format!("row:{id}")).exec(&mut stage.cache).expect("the cache");
            let known = stage.service.cache.look_up(id).await.expect("an answer");
            assert_eq!(known, Known::Nothing, "product {n} of {new}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_filter_lets_requests_through_and_is_filled_again() {
    let mut stage = stage(Kind::Bloom).await;
    let _web = web::serve(stage.service.clone()).await.expect("a port");
    assert!(known_absent(&stage).await > 90);
    cmd("FLUSHALL").exec(&mut stage.cache).expect("the cache");
    assert_eq!(known_absent(&stage).await, 0);
    let found = stage.service.find(product(0)).await.expect("an answer");
    assert!(found.is_some());
    eventually("a refill", || async { known_absent(&stage).await > 90 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_is_not_acknowledged_while_the_filter_refuses_it() {
    let mut stage = stage(Kind::Bloom).await;
    let _web = web::serve(stage.service.clone()).await.expect("a port");
    let set = |most| cmd("CONFIG").arg(&["SET", "maxmemory", most]).to_owned();
    set("1").exec(&mut stage.cache).expect("the cache");
    let id = product(PRODUCTS);
    assert!(!stage.service.create(id, "refused").await.expect("a product"));
    set("0").exec(&mut stage.cache).expect("the cache");
    eventually("it is found", || async {
        stage.service.find(id).await.is_ok_and(|it| it.is_some())
    })
    .await;
    assert!(stage.service.create(product(PRODUCTS + 1), "taken").await.expect("a product"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_an_earlier_run_of_the_server_has_saved_is_not_trusted() {
    let mut stage = stage(Kind::Bloom).await;
    cmd("SAVE").exec(&mut stage.cache).expect("a snapshot");
    let id = product(PRODUCTS);
    stage.service.create(id, "too late for the snapshot").await.expect("a product");
    stage.server.restart();
    // While the cache is down, the database answers.
    assert!(stage.service.find(id).await.expect("an answer").is_some());
    let mut cache = stage.server.connect().expect("the cache");
    cmd("DEL").arg(format!("row:{id}")).exec(&mut cache).expect("the cache");
    let there: bool = cmd("EXISTS").arg("ids").query(&mut cache).expect("the cache");
    assert!(there);
    eventually("the cache is back", || async { stage.service.cache.look_up(id).await.is_ok() })
        .await;
    let known = stage.service.cache.look_up(id).await.expect("an answer");
    assert_eq!(known, Known::NoFilter);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_products_leave_a_counting_filter_at_once_and_any_filter_with_a_rebuild() {
    for kind in [Kind::Bloom, Kind::Counting] {
        let stage = stage(kind).await;
        let deleted = || (0..100).map(product);
        for id in deleted() {
            assert!(stage.service.remove(id).await.expect("an answer"));
            assert!(!stage.service.remove(id).await.expect("an answer"));
        }
        let absent = count(&stage, deleted(), Known::Absent).await;
        match kind {
            Kind::Bloom => assert_eq!(absent, 0),
            Kind::Counting => assert!(absent > 90, "{absent}"),
        }
        let others = (100..PRODUCTS).map(product);
        assert_eq!(count(&stage, others, Known::Absent).await, 0);
        assert!(stage.service.fill(|_| {}).await.expect("a filter"));
        assert!(count(&stage, deleted(), Known::Absent).await > 90);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_another_program_inserts_is_announced() {
    let stage = stage(Kind::Bloom).await;
    let _web = web::serve(stage.service.clone()).await.expect("a port");
    let service = &stage.service;
    let id = product(PRODUCTS);
    service.table.insert(id, "from elsewhere").await.expect("a row");
    eventually("an announcement", || async {
        service.find(id).await.expect("an answer").is_some()
    })
    .await;
    eventually("the list is empty", || async {
        service.table.unannounced().await.expect("an answer").is_empty()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fill_that_fails_lets_the_next_one_begin_at_once() {
    for kind in [Kind::Bloom, Kind::Counting] {
        let mut stage = stage(kind).await;
        let set = |stage: &mut Stage, limit: &str| {
            cmd("CONFIG").arg("SET").arg("maxmemory").arg(limit).exec(&mut stage.cache)
        };
        let service = stage.service.clone();
        let filling = service.cache.begin(0.01, PRODUCTS).await.expect("no error");
        let mut filling = filling.expect("the lock");
        set(&mut stage, "1").expect("a setting");
        assert!(filling.add(&[1, 2, 3]).await.is_err());
        filling.give_up().await;
        assert!(stage.service.fill(|_| {}).await.is_err());
        set(&mut stage, "0").expect("a setting");
        let keys: Vec<String> = cmd("KEYS").arg("ids*").query(&mut stage.cache).expect("the keys");
        assert_eq!(keys, ["ids"]);
        assert!(stage.service.fill(|_| {}).await.expect("a filter"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fill_whose_lock_another_process_has_swaps_nothing_in() {
    let mut stage = stage(Kind::Bloom).await;
    let cache = &stage.service.cache;
    let mut first = cache.begin(0.01, PRODUCTS).await.expect("no error").expect("the lock");
    first.add(&[1]).await.expect("an answer");
    // As if it had been silent for too long.
    cmd("DEL").arg("ids:filling").exec(&mut stage.cache).expect("the cache");
    let mut second = cache.begin(0.01, PRODUCTS).await.expect("no error").expect("the lock");
    assert!(!first.finish().await.expect("an answer"));
    first.give_up().await;
    second.add(&[product(0)]).await.expect("it has a filter of its own, and the lock");
    assert!(cache.begin(0.01, PRODUCTS).await.expect("no error").is_none());
    let found = cache.look_up(product(PRODUCTS - 1)).await.expect("an answer");
    assert_eq!(found, Known::Nothing, "it is in the filter");
}
