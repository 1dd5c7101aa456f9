//! The plot: queries, memory and latency over time, for each guard.

use crate::trial::Run;
use crate::Outcome;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (760, 840);
/// Colours that also differ in lightness, for colour-blind readers (Okabe and Ito 2008).
const COLOURS: [RGBColor; 3] =
    [RGBColor(230, 159, 0), RGBColor(0, 158, 115), RGBColor(0, 114, 178)];

type Points = Vec<(f64, f64)>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the runs into an SVG file.
///
/// # Errors
/// The file cannot be written.
pub fn draw(runs: &[Run], file: &Path) -> Outcome<()> {
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let parts = area.split_evenly((3, 1));
    let phase = runs[0].phase.as_secs_f64();
    let top = |lines: &[Points]| {
        let values = lines.iter().flatten().map(|(_, y)| *y);
        values.fold(0.0, f64::max)
    };

    let queries: Vec<Points> = runs.iter().map(queries).collect();
    let memory: Vec<Points> = runs.iter().map(memory).collect();
    let p99: Vec<Points> = runs.iter().map(p99).collect();
    let linear = |lines: &[Points]| 0.0..top(lines) * 1.15;
    panel(&parts[0], runs, "database queries a second", phase, linear(&queries), &queries)?;
    panel(&parts[1], runs, "memory of the cache, MiB", phase, linear(&memory), &memory)?;
    let logarithmic = (0.1..top(&p99) * 2.0).log_scale();
    panel(&parts[2], runs, "p99 of customers, ms", phase, logarithmic, &p99)?;
    area.present()?;
    Ok(())
}

fn panel<Y>(
    area: &Area,
    runs: &[Run],
    title: &str,
    phase: f64,
    y: Y,
    lines: &[Points],
) -> Outcome<()>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..phase * 4.0, y)?;
    let (bottom, top) = {
        let range = chart.y_range();
        (range.start, range.end)
    };
    // Two phases of attack; the filter is lost between them.
    let attack = Rectangle::new([(phase, bottom), (phase * 3.0, top)], RED.mix(0.06).filled());
    let loss = PathElement::new([(phase * 2.0, bottom), (phase * 2.0, top)], RED.mix(0.5));
    chart.draw_series([attack])?;
    chart.draw_series([loss])?;
    chart
        .configure_mesh()
        .x_desc("seconds; shaded: the attack; line: the filter is lost")
        .light_line_style(WHITE)
        .draw()?;
    for ((run, points), colour) in runs.iter().zip(lines).zip(COLOURS) {
        chart
            .draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?
            .label(run.guard.name())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    Ok(())
}

fn queries(run: &Run) -> Points {
    let pairs = run.samples.windows(2);
    let point = |pair: &[crate::trial::Sample]| {
        let seconds = (pair[1].at - pair[0].at).as_secs_f64();
        let rate = (pair[1].asked - pair[0].asked) as f64 / seconds;
        ((pair[1].at - run.started).as_secs_f64(), rate)
    };
    pairs.map(point).collect()
}

fn memory(run: &Run) -> Points {
    let samples = run.samples.iter();
    let seconds = |at| std::time::Instant::saturating_duration_since(&at, run.started);
    let mebibytes = |bytes| bytes as f64 / f64::from(1 << 20);
    samples.map(|sample| (seconds(sample.at).as_secs_f64(), mebibytes(sample.memory))).collect()
}

fn p99(run: &Run) -> Points {
    let pairs = run.samples.windows(2);
    let point = |pair: &[crate::trial::Sample]| {
        let p99 = run.p99(pair[0].at, pair[1].at);
        ((pair[1].at - run.started).as_secs_f64(), p99.max(0.1))
    };
    pairs.map(point).collect()
}
