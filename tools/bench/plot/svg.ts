/** Part of a drawing, already escaped. */
export type Svg = string & { readonly __svg: true };

type Attributes = Readonly<Record<string, string | number>>;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string | number) => String(text).replace(/[&<>"]/g, found => ESCAPES[found] ?? found);
/** Rounds to tenths of a pixel, so that equal drawings are equal files. */
const written = (value: string | number) => (typeof value === 'number' ? Math.round(value * 10) / 10 : value);

export function element(name: string, attributes: Attributes, ...children: readonly Svg[]): Svg {
  const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(written(value))}"`);
  const open = `<${name}${list.join('')}`;
  return (children.length === 0 ? `${open}/>` : `${open}>${children.join('')}</${name}>`) as Svg;
}

export function text(content: string, attributes: Attributes): Svg {
  return element('text', attributes, escaped(content) as Svg);
}

export const line = (x1: number, y1: number, x2: number, y2: number, kind: string): Svg =>
  element('line', { x1, y1, x2, y2, class: kind });

/** Colours for light and dark mode. */
const STYLE = `
  svg { font: 13px system-ui, sans-serif; }
  .surface { fill: #ffffff; } .ink { fill: #1f2328; } .muted { fill: #59636e; } .small { font-size: 11px; }
  .title { font-weight: 600; } .end { text-anchor: end; } .middle { text-anchor: middle; }
  .grid { stroke: #e1e5ea; } .target { stroke: #59636e; stroke-dasharray: 4 3; }
  .s0, .met { stroke: #1a66c2; fill: #1a66c2; } .s1, .missed { stroke: #b54a0b; fill: #b54a0b; }
  .undecided { stroke: #59636e; fill: #59636e; }
  .s2 { stroke: #1b7f5f; fill: #1b7f5f; } .s3 { stroke: #7a4fb5; fill: #7a4fb5; }
  .range { stroke-width: 2; stroke-linecap: round; } .sample { fill-opacity: 0.35; stroke: none; }
  .hollow { fill: #ffffff; stroke-width: 2; } .curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
  @media (prefers-color-scheme: dark) {
    .surface { fill: #0d1117; } .ink { fill: #e6edf3; } .muted { fill: #9198a1; }
    .grid { stroke: #262c36; } .target { stroke: #9198a1; }
    .s0, .met { stroke: #6cb0ff; fill: #6cb0ff; } .s1, .missed { stroke: #f0883e; fill: #f0883e; }
    .undecided { stroke: #9198a1; fill: #9198a1; }
    .s2 { stroke: #3fc69a; fill: #3fc69a; } .s3 { stroke: #b490f0; fill: #b490f0; }
    .sample { stroke: none; } .hollow { fill: #0d1117; } .curve { fill: none; }
  }
`;

/** A complete file, with a description for people who do not see it. */
export function drawing(width: number, height: number, description: string, content: readonly Svg[]): string {
  const svg = element(
    'svg',
    { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img' },
    element('title', {}, escaped(description) as Svg),
    element('style', {}, STYLE as Svg),
    element('rect', { width, height, class: 'surface' }),
    ...content,
  );
  return `${svg}\n`;
}

/** Wraps text between words at this line length. */
export function wrapped(content: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of content.trim().split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
