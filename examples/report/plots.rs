//! The plots, as SVG files beside the tables they are drawn from.

use crate::table::Table;
use crate::Outcome;
use plotters::prelude::*;
use std::path::Path;

/// A line of a plot: its name and its points.
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
}

struct Plot<'a> {
    file: &'a str,
    title: &'a str,
    x: &'a str,
    y: &'a str,
}

const SIZE: (u32, u32) = (760, 420);
/// Colours that differ in lightness too, for those who do not see all hues (Okabe and Ito 2008).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// The tables of the servers measured, with the name of the other module in each.
const SERVERS: [(&str, &str); 2] = [
    ("server-redisbloom", "RedisBloom"),
    ("server-valkey-bloom", "valkey-bloom"),
];

/// Draws every plot of the documents.
///
/// # Errors
/// A table is missing, or has other columns than it should.
pub fn draw_all() -> Outcome<()> {
    throughput("BF.MEXISTS", "lookups")?;
    throughput("BF.MADD", "adds")?;
    stalls()?;
    copied()
}

/// The worst that a bystander saw, against the size of the filter, in the phases that should not be felt.
fn stalls() -> Outcome<()> {
    let table = |module: &str| Table::load("stalls")?.only("module", module);
    let phase = |module: &str, phase: &str, name: &str| -> Outcome<Series> {
        Ok(Series {
            name: name.to_string(),
            points: points(
                &table(module)?.only("phase", phase)?,
                "items",
                "worst stall, ms",
            )?,
        })
    };
    let plot = Plot {
        file: "stalls",
        title: "The worst wait of a bystander",
        x: "items the filter is made for",
        y: "milliseconds",
    };
    plot.draw(&[
        phase("splitbloom", "idle", "nothing but the machine")?,
        phase("splitbloom", "UNLINK of the copy", "UNLINK")?,
        phase("splitbloom", "expiry", "expiry")?,
        phase("splitbloom", "SCANDUMP and LOADCHUNK", "LOADCHUNK")?,
        phase("splitbloom", "filling, first touches", "first touches")?,
        phase("redisbloom", "UNLINK", "UNLINK, RedisBloom")?,
    ])
}

/// What a snapshot copies for each item added meanwhile.
fn copied() -> Outcome<()> {
    let of = |module: &str, name: &str| -> Outcome<Series> {
        let table = Table::load("cow")?.only("module", module)?;
        Ok(Series {
            name: name.to_string(),
            points: points(&table, "items", "KB copied per add")?,
        })
    };
    let plot = Plot {
        file: "copied",
        title: "Copied during a snapshot, for each of 200 000 adds",
        x: "items the filter is made for",
        y: "kilobytes",
    };
    plot.draw(&[
        of("splitbloom", "splitbloom")?,
        of("redisbloom", "RedisBloom")?,
    ])
}

/// Items a second against the size of the filter: ours and the floor from the first table, the others each from its own.
fn throughput(command: &str, file: &str) -> Outcome<()> {
    let column = |table: &str, name: &str, column: &str| -> Outcome<Series> {
        let table = Table::load(table)?.only("command", command)?;
        Ok(Series {
            name: name.to_string(),
            points: points(&table, "items", column)?,
        })
    };
    let (first, _) = SERVERS[0];
    let mut series = vec![
        column(first, "SMISMEMBER, the floor", "floor, million/s")?,
        column(first, "splitbloom", "million items/s")?,
    ];
    for (table, name) in SERVERS {
        series.push(column(table, name, "peer, million/s")?);
    }
    let plot = Plot {
        file: &format!("throughput-{file}"),
        title: &format!("{command}, 100 items a command"),
        x: "items the filter is made for",
        y: "million items a second",
    };
    plot.draw(&series)
}

/// Two columns of numbers.
fn points(table: &Table, x: &str, y: &str) -> Outcome<Vec<(f64, f64)>> {
    let (x, y) = (table.column(x)?, table.column(y)?);
    let numbers = |row: &Vec<String>| Some((row[x].parse().ok()?, row[y].parse().ok()?));
    Ok(table.rows().iter().filter_map(numbers).collect())
}

impl Plot<'_> {
    /// Lines over a logarithmic x axis, from 0 up.
    fn draw(&self, series: &[Series]) -> Outcome<()> {
        let all = || series.iter().flat_map(|series| &series.points);
        let least = all().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
        let most = all().map(|(x, _)| *x).fold(0.0, f64::max);
        let top = all().map(|(_, y)| *y).fold(0.0, f64::max) * 1.1;
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("docs/performance")
            .join(self.file)
            .with_extension("svg");
        let area = SVGBackend::new(&path, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(56)
            .build_cartesian_2d((least..most * 1.2).log_scale(), 0.0..top)?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&|x| format!("{x:.0e}"))
            .light_line_style(WHITE)
            .draw()?;
        for (series, colour) in series.iter().zip(COLOURS) {
            chart
                .draw_series(
                    LineSeries::new(series.points.clone(), colour.stroke_width(2)).point_size(4),
                )?
                .label(&series.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour));
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .draw()?;
        area.present()?;
        Ok(())
    }
}
