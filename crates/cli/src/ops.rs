//! `taste ops`.

use anyhow::Result;
use serde_json::json;

use crate::{args::OpsArgs, print, print_json, table::Table};

pub(crate) fn run(args: &OpsArgs) -> Result<()> {
    let all = taste_engine::operators();
    let class = |o: &taste_engine::Operator| o.class.map(|c| c.to_string());
    if args.json {
        let rows: Vec<_> =
            all.iter().map(|o| json!({ "name": o.name, "class": class(o) })).collect();
        return print_json(&rows);
    }
    let mut table = Table::default();
    table.row(["operator", "derivative"]);
    for operator in &all {
        table.row([operator.name.clone(), class(operator).unwrap_or_default()]);
    }
    print(&table.render(0))
}
