//! Plots the bench: speedups over `emb-opt0`, and the share of the bound.

use super::Row;
use plotters::prelude::*;

/// The plotted programs, each with its colour.
const BARS: [(&str, RGBColor); 7] = [
    ("emb-opt0", RGBColor(190, 190, 190)),
    ("emb-opt1", RGBColor(158, 202, 225)),
    ("emb-opt2", RGBColor(66, 146, 198)),
    ("emb-opt3", RGBColor(8, 69, 148)),
    ("paper", RGBColor(253, 190, 133)),
    ("expert", RGBColor(230, 120, 30)),
    ("search", RGBColor(35, 139, 69)),
];

/// Returns the text of an SVG file.
pub(super) fn draw(rows: &[Row]) -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    plot(rows, &mut text)?;
    Ok(text)
}

fn plot(rows: &[Row], text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let width = 200 + 60 * rows.len().max(8) as u32;
    let area = SVGBackend::with_string(text, (width, 760)).into_drawing_area();
    area.fill(&WHITE)?;
    let (upper, lower) = area.split_vertically(380);
    let most = rows
        .iter()
        .flat_map(|row| BARS.iter().filter_map(|(program, _)| row.cycles.speedup(program)))
        .fold(1.0, f64::max);
    bars(rows, &upper, "Speedup over emb-opt0", most * 1.1, |row, p| row.cycles.speedup(p))?;
    bars(rows, &lower, "Percent of the physical bound", 105.0, |row, p| {
        row.cycles.percent_of_bound(p)
    })?;
    area.present()?;
    Ok(())
}

/// Draws a group of bars for each workload.
fn bars(
    rows: &[Row],
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    most: f64,
    value: impl Fn(&Row, &str) -> Option<f64>,
) -> Result<(), Box<dyn std::error::Error>> {
    // The legend is to the right of the bars.
    let places = rows.len() + 2;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(90)
        .y_label_area_size(50)
        .build_cartesian_2d(0.0..places as f64, 0.0..most)?;
    let middle = |x: &f64| {
        let row = rows.get(*x as usize).filter(|_| (x.fract() - 0.5).abs() < 1e-6);
        row.map_or_else(String::new, |row| row.workload.clone())
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .max_light_lines(0)
        .x_labels(2 * places + 1)
        .y_label_formatter(&|y| format!("{y:.0}"))
        .x_label_formatter(&middle)
        .x_label_style(("sans-serif", 12).into_font().transform(FontTransform::Rotate90))
        .y_label_style(("sans-serif", 12))
        .draw()?;
    for (i, (program, colour)) in BARS.iter().enumerate() {
        let place = |row: usize| row as f64 + 0.1 + 0.8 * i as f64 / BARS.len() as f64;
        let drawn = rows.iter().enumerate().filter_map(|(at, row)| {
            let left = place(at);
            let right = left + 0.8 / BARS.len() as f64;
            Some(Rectangle::new([(left, 0.0), (right, value(row, program)?)], colour.filled()))
        });
        chart
            .draw_series(drawn)?
            .label(*program)
            .legend(|(x, y)| Rectangle::new([(x, y - 4), (x + 10, y + 4)], colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .label_font(("sans-serif", 11))
        .draw()?;
    Ok(())
}
