//! Tests the output of the bench, on small batches of three workloads.

use crate::common::{ember, folder, word};
use serde_json::Value;

#[test]
fn the_list_is_complete_and_every_program_valid() {
    let svg = word(&folder("bench").join("plot.svg"));
    let words = ["bench", "--filter", "^(KG_biokg|RM1_L2|SpAttn_1)$", "--scale", "0.05", "--json"];
    let more = ["--compare", "workloads/published.json", "--svg", &svg];
    let ran = ember(&[&words[..], &more].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:#?}");
    let list = ran.json();
    assert_eq!(list["schema_version"], 1);
    let rows = list["workloads"].as_array().expect("a list");
    let names: Vec<_> = rows.iter().map(|row| (&row["family"], &row["workload"])).collect();
    let [eb, rm, kg, biokg] = ["EB", "RM1_L2", "KG", "KG_biokg"].map(Value::from);
    let [attention, blocks] = ["SpAttn", "SpAttn_1"].map(Value::from);
    assert_eq!(names, [(&eb, &rm), (&kg, &biokg), (&attention, &blocks)]);
    for row in rows {
        assert_eq!(row["valid"], true, "{row}");
        let cycles = |name: &str| row["cycles"][name].as_u64();
        for name in ["emb-opt0", "emb-opt1", "emb-opt2", "emb-opt3", "search"] {
            assert!(cycles(name) >= cycles("bound"), "{name}: {row}");
        }
        assert!(cycles("search") <= cycles("emb-opt3"), "{row}");
        assert!(row["percent_of_bound"].as_f64().is_some_and(|p| p > 0.0 && p <= 100.0), "{row}");
        assert!(row["bound_by"].is_string() && row["elements"].as_u64() > Some(0), "{row}");
        assert!(row["llc_accesses_per_thousand_elements"]["search"].is_f64(), "{row}");
        assert!(row["utilisation"]["search"]["access"].is_f64(), "{row}");
    }
    assert!(rows[0]["percent_of_paper"].is_f64() && rows[0]["percent_of_expert"].is_f64());
    assert!(rows[0]["published"]["emb-opt3"]["ln_ratio"].is_f64(), "{}", rows[0]);
    let loads = |program: &str, hint: &str| {
        rows[2]["published_llc_loads"][program][hint]["ours"].as_f64().expect("loads")
    };
    assert!(loads("temporal-l2", "temporal") < 0.5 * loads("temporal-llc", "temporal"));
    let random = ["temporal-l2", "temporal-llc"].map(|program| loads(program, "non-temporal"));
    assert!(random[0] > 0.0 && random[0] == random[1], "{random:?}");
    let plot = std::fs::read_to_string(&svg).expect("a plot");
    assert!(plot.starts_with("<svg") && plot.contains("RM1_L2"), "{plot}");
}

#[test]
fn the_tables_fit_a_terminal() {
    let words = ["bench", "--filter", "^SpAttn_1$", "--scale", "0.05"];
    let ran = ember(&[&words[..], &["--compare", "workloads/published.json"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let tables = ["Cycles of the schedules", "The speed of `search`", "LLC accesses per 1000"];
    assert!(tables.iter().all(|table| ran.out.contains(table)), "{}", ran.out);
    let wide: Vec<&str> = ran.out.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

/// Chosen from the pool, no program is worse than that of another search on the data that it is chosen on, and the report
/// says whether the search found it itself.
#[test]
fn no_other_search_beats_the_pool() {
    let mut needed = 0;
    for candidates in ["12", "1"] {
        let words = ["bench", "--filter", "^(KG_biokg|SpMM_arxiv)$", "--scale", "0.05"];
        let more = ["--pool", "--seed", "1", "--tune-seed", "1", "--candidates", candidates];
        let ran = ember(&[&words[..], &more, &["--json"]].concat());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:#?}");
        for row in ran.json()["workloads"].as_array().expect("a list") {
            let (best, pooled) = (row["cycles"]["search"].as_u64(), &row["pooled"]);
            let own = pooled["own_cycles"].as_u64();
            assert_eq!(pooled["by"].is_null(), best == own, "{pooled}");
            needed += usize::from(best < own);
            let searches = pooled["searches"].as_array().expect("searches");
            let names = |key: &str| searches.iter().filter(|s| s[key].is_string()).count();
            assert!(names("schedule") >= 5 && names("without") >= 10, "{pooled}");
            for search in searches.iter().filter(|search| search["cycles"].is_u64()) {
                assert!(search["cycles"].as_u64() >= best, "{search}: {row}");
            }
        }
    }
    assert!(needed > 0, "a search that simulates one candidate misses some programs");
}
