import { median } from '../support/statistics.ts';
import type { Series, Sweep } from '../support/sweep.ts';
import { linearScale, logScale, type Scale, short } from './scale.ts';
import { drawing, element, line, type Svg, text } from './svg.ts';

const PANEL = { width: 470, height: 300 };
const COLUMNS = 2;
const TOP = 52;
const MARGIN = { left: 56, right: 24, top: 30, bottom: 44 };
const LEGEND_LINE = 16;
const COLOURS = 4;
/** From this ratio of the largest to the smallest size on, the axis is logarithmic. */
const LOGARITHMIC = 50;

interface Panel {
  readonly sweep: Sweep;
  readonly unit: string;
  readonly series: readonly Series[];
}

/** Draws one panel per unit of each sweep, with median, minimum and maximum of the runs at each size. */
export function plotSweeps(sweeps: readonly Sweep[], caption: string): string {
  const panels = sweeps.flatMap(sweep => {
    const units = new Set(sweep.series.map(({ unit }) => unit));
    return [...units].map(unit => ({ sweep, unit, series: sweep.series.filter(one => one.unit === unit) }));
  });
  const width = COLUMNS * PANEL.width;
  const height = TOP + Math.ceil(panels.length / COLUMNS) * PANEL.height;
  const content = [
    text('What grows, and what it costs', { x: 16, y: 24, class: 'ink title' }),
    text(caption, { x: 16, y: 42, class: 'muted small' }),
    ...panels.map((panel, nth) => {
      const x = (nth % COLUMNS) * PANEL.width;
      const y = TOP + Math.floor(nth / COLUMNS) * PANEL.height;
      return element('g', { transform: `translate(${x} ${y})` }, ...drawn(panel));
    }),
  ];
  return drawing(width, height, `${sweeps.map(({ title }) => title).join('; ')}. ${caption}`, content);
}

function drawn({ sweep, unit, series }: Panel): Svg[] {
  const { values } = sweep.x;
  const right = PANEL.width - MARGIN.right;
  const bottom = PANEL.height - MARGIN.bottom;
  const top = MARGIN.top + (series.length + 1) * LEGEND_LINE;
  const [smallest, largest] = [Math.min(...values), Math.max(...values)];
  const isLogarithmic = smallest > 0 && largest / smallest >= LOGARITHMIC;
  const x = isLogarithmic ? logScale(values, 10, MARGIN.left, right) : linearScale(largest, MARGIN.left, right);
  const highest = Math.max(...series.flatMap(one => [...one.samples.flat(), one.target?.value ?? 0]));
  const y = linearScale(highest, bottom, top);
  return [
    text(`${sweep.title} (${unit})`, { x: 16, y: 18, class: 'ink title' }),
    ...y.ticks.flatMap(tick => [
      line(MARGIN.left, y.at(tick), right, y.at(tick), 'grid'),
      text(short(tick), { x: MARGIN.left - 8, y: y.at(tick) + 4, class: 'muted small end' }),
    ]),
    ...x.ticks.map(tick => text(short(tick), { x: x.at(tick), y: bottom + 16, class: 'muted small middle' })),
    text(sweep.x.label, { x: (MARGIN.left + right) / 2, y: bottom + 34, class: 'muted small middle' }),
    ...series.flatMap((one, nth) => curve(one, nth, values, { x, y, right })),
  ];
}

function curve(
  { label, samples, target }: Series,
  nth: number,
  sizes: readonly number[],
  { x, y, right }: { x: Scale; y: Scale; right: number },
): Svg[] {
  const colour = `s${nth % COLOURS}`;
  const legend = MARGIN.top + (nth + 0.5) * LEGEND_LINE;
  const points = sizes.map((size, at) => {
    const runs = samples[at] ?? [];
    const place = (value: number) => y.at(value);
    return { x: x.at(size), y: place(median(runs)), low: place(Math.min(...runs)), high: place(Math.max(...runs)) };
  });
  const targetLine =
    target === undefined ? [] : [line(MARGIN.left, y.at(target.value), right, y.at(target.value), 'target')];
  const said = target === undefined ? '' : `, target ${target.bound} ${short(target.value)}`;
  return [
    ...targetLine,
    mark(MARGIN.left + 4, legend - 4, nth, colour),
    text(`${label}${said}`, { x: MARGIN.left + 16, y: legend, class: 'muted small' }),
    ...points.map(({ x: at, low, high }) => line(at, low, at, high, `range ${colour}`)),
    element('polyline', {
      points: points.map(point => `${tenth(point.x)},${tenth(point.y)}`).join(' '),
      class: `curve ${colour}`,
    }),
    ...points.map(point => mark(point.x, point.y, nth, colour)),
  ];
}

const tenth = (value: number) => Math.round(value * 10) / 10;

/** Series differ in shape and colour. */
function mark(x: number, y: number, nth: number, colour: string): Svg {
  if (nth % 2 === 0) return element('circle', { cx: x, cy: y, r: 4, class: colour });
  return element('rect', { x: x - 4, y: y - 4, width: 8, height: 8, class: colour });
}
