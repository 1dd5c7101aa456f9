//! Draws a plot: lines over a logarithmic x axis, as an SVG file in `docs/performance`.

use plotters::prelude::*;
use splitbloom_harness::in_repository;
use splitbloom_rig::Outcome;

/// A line of a plot: its name and its points.
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// A plot: its file name and its labels.
pub struct Plot<'a> {
    pub file: &'a str,
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    /// A corner without lines.
    pub legend: SeriesLabelPosition,
}

const SIZE: (u32, u32) = (760, 420);
/// Lines of more points have no markers: on 680 pixels, those of 30 points would nearly touch.
const MARKED: usize = 30;
/// Colours that also differ in lightness, for colour-blind readers (Okabe and Ito 2008).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

impl Plot<'_> {
    /// # Errors
    /// The file cannot be written.
    pub fn draw(&self, series: &[Series]) -> Outcome<()> {
        let all = || series.iter().flat_map(|series| &series.points);
        let min = all().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
        let max = all().map(|(x, _)| *x).fold(0.0, f64::max);
        let top = all().map(|(_, y)| *y).fold(0.0, f64::max) * 1.1;
        let path = in_repository("docs/performance").join(self.file).with_extension("svg");
        let area = SVGBackend::new(&path, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(56)
            .build_cartesian_2d((min..max * 1.2).log_scale(), 0.0..top)?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&|x| format!("{x:.0e}"))
            .light_line_style(WHITE)
            .draw()?;
        for (series, colour) in series.iter().zip(COLOURS) {
            let marker = if series.points.len() > MARKED { 0 } else { 4 };
            let line = LineSeries::new(series.points.clone(), colour.stroke_width(2));
            chart
                .draw_series(line.point_size(marker))?
                .label(&series.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour));
        }
        chart
            .configure_series_labels()
            .position(self.legend.clone())
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .draw()?;
        area.present()?;
        Ok(())
    }
}
