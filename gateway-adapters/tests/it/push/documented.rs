//! docs/PLATFORMS.md has the row of each platform.

use gateway_adapters::push::PLATFORMS;

#[test]
fn each_platform_has_its_row() {
    let docs = include_str!("../../../../docs/PLATFORMS.md");
    for platform in PLATFORMS {
        let quoted = |names: Vec<&str>| {
            let names = names.iter().filter(|name| !name.is_empty());
            names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let keys = quoted(platform.fields.iter().map(|field| field.name).collect());
        let variables = quoted(platform.fields.iter().map(|field| field.variable).collect());
        let row =
            format!("| `{}` | {} | {keys} | {variables} |", platform.name, platform.guarantee);
        assert!(docs.contains(&row), "docs/PLATFORMS.md lacks this row:\n{row}");
    }
}
