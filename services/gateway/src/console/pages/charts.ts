import { attributes, type Html, html, joinHtml } from '@postern/pages/html';
import { scaleBand, scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import { count, table } from './parts.ts';

export interface Series {
  readonly name: string;
  /** One per place of the chart. */
  readonly values: readonly number[];
  /** Colour of the stylesheet, so that a name has the same one in every chart. */
  readonly colour: number;
}

export interface ChartView {
  /** Plain name for the id of its heading. */
  readonly id: string;
  readonly title: string;
  /** What the places are, for the head of the table: `Hour (UTC)`. */
  readonly places: string;
  readonly labels: readonly string[];
  readonly series: readonly Series[];
}

const WIDTH = 1000;
const HEIGHT = 100;
const TICKS = 4;

export const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/**
 * Stacked bars, drawn as SVG without any inline style: classes carry the colours, and text stays outside of the picture, so that it keeps
 * its size when the picture is stretched. The table behind it has all numbers.
 */
export function barChart({ id, title, places, labels, series }: ChartView): Html {
  const totals = labels.map((_, at) => sum(series.map(({ values }) => values[at] ?? 0)));
  const highest = Math.max(0, ...totals);
  if (highest === 0)
    return html`<figure class="chart" aria-labelledby="${id}"><figcaption id="${id}">${title}</figcaption><p class="empty">Nothing in this period.</p></figure>`;
  const y = scaleLinear().domain([0, highest]).nice(TICKS).range([HEIGHT, 0]);
  const x = scaleBand<number>()
    .domain(labels.map((_, at) => at))
    .range([0, WIDTH])
    .paddingInner(0.2);
  const layers = stack<number, number, number>()
    .keys(series.map((_, at) => at))
    .value((at, key) => series[key]?.values[at] ?? 0)(labels.map((_, at) => at));
  const bars = layers.flatMap((layer, key) =>
    layer.flatMap(([low, high], at) =>
      high > low
        ? [
            html`<rect${attributes({ class: `s${series[key]?.colour ?? 0}`, x: round(x(at) ?? 0), width: round(x.bandwidth()), y: round(y(high)), height: round(y(low) - y(high)) })}></rect>`,
          ]
        : [],
    ),
  );
  const ticks = y.ticks(TICKS).filter(Number.isInteger);
  const lines = ticks.map(
    tick => html`<path class="grid"${attributes({ d: `M0 ${round(y(tick))}H${WIDTH}` })}></path>`,
  );
  const summary = `${title}: ${sum(totals).toLocaleString('en-US')} in total, at most ${highest.toLocaleString('en-US')}`;
  const keys = series.map(
    ({ name, values, colour }) =>
      html`<li><span class="${`key s${colour}`}"></span>${name} <b>${count(sum(values))}</b></li>`,
  );
  const edges = [...new Set([labels[0], labels[Math.floor(labels.length / 2)], labels.at(-1)])].flatMap(label =>
    label === undefined ? [] : [html`<li>${label}</li>`],
  );
  return html`<figure class="chart" aria-labelledby="${id}"><figcaption id="${id}">${title}</figcaption>
<ul class="legend">${keys}</ul>
<div class="plot"><p class="highest">${count(y.domain()[1] ?? 0)}</p><svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label="${summary}">${joinHtml([...lines, ...bars])}</svg></div>
<ul class="edges">${edges}</ul>
<details><summary>Show as a table</summary>${chartTable({ title, places, labels, series })}</details></figure>`;
}

function chartTable({ title, places, labels, series }: Omit<ChartView, 'id'>): Html {
  return table({
    caption: title,
    columns: [
      { name: places, cell: at => labels[at] },
      ...series.map(({ name, values }) => ({ name, isNumber: true, cell: (at: number) => values[at] ?? 0 })),
    ],
    items: labels.map((_, at) => at),
    empty: 'No data.',
  });
}

/**
 * A bar within a row of a table, with a part per value. The numbers beside it say the same.
 * @param colours one per value; a value without one is left free
 */
export function partsBar(values: readonly number[], colours: readonly (number | undefined)[]): Html {
  const total = sum(values);
  const x = scaleLinear()
    .domain([0, total || 1])
    .range([0, 100]);
  const bars = values.flatMap((value, at) => {
    const before = sum(values.slice(0, at));
    const colour = colours[at];
    return value > 0 && colour !== undefined
      ? [
          html`<rect height="8"${attributes({ class: `s${colour}`, x: round(x(before)), width: round(x(value)) })}></rect>`,
        ]
      : [];
  });
  return html`<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="8"></rect>${joinHtml(bars)}</svg>`;
}

const round = (value: number) => Number(value.toFixed(2));
