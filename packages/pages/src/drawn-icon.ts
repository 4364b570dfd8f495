import { crc32, deflateSync } from 'node:zlib';
import { type Colour, mix, textOn } from './colour.ts';

/** Samples per pixel and direction, for smooth edges. */
const SAMPLES = 4;

/** Draws the icon of an operator without an own one: a gate in a rounded square of the given colour. Returns a square PNG. */
export function drawnIcon(ground: Colour, size: number): Buffer {
  const ink = textOn(ground);
  // Edges have few shades, so the icon has a palette, which halves its size.
  const palette = new Map<
    string,
    { readonly rgb: readonly number[]; readonly alpha: number; readonly index: number }
  >();
  const rows: Buffer[] = [];
  for (let y = 0; y < size; y += 1) {
    // Each row begins with its filter: none (PNG, section 9).
    const row = Buffer.alloc(1 + size);
    for (let x = 0; x < size; x += 1) {
      const covered = (shape: (x: number, y: number) => boolean) => coverage(shape, x, y, size);
      const { red, green, blue } = mix(ground, ink, covered(isGate));
      const [alpha = 0, ...rgb] = [covered(isSquare) * 255, red, green, blue].map(Math.round);
      const shade = palette.get(`${rgb} ${alpha}`) ?? { rgb, alpha, index: palette.size };
      palette.set(`${rgb} ${alpha}`, shade);
      row[1 + x] = shade.index;
    }
    rows.push(row);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  // 8 bits per pixel, an index of the palette.
  header.set([8, 3], 8);
  const shades = [...palette.values()];
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(shades.flatMap(({ rgb }) => rgb))),
    chunk('tRNS', Buffer.from(shades.map(({ alpha }) => alpha))),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** The share of a pixel that is inside of a shape, which is drawn in a square from -1 to 1. */
function coverage(shape: (x: number, y: number) => boolean, x: number, y: number, size: number): number {
  const at = (pixel: number, step: number) => (2 * (pixel + (step + 0.5) / SAMPLES)) / size - 1;
  const isInside = (stepX: number, stepY: number) => shape(at(x, stepX), at(y, stepY));
  const last = SAMPLES - 1;
  const isCornerInside = isInside(0, 0);
  // Nothing in the shapes is smaller than a pixel: its corners decide on most pixels.
  if (
    isInside(last, 0) === isCornerInside &&
    isInside(0, last) === isCornerInside &&
    isInside(last, last) === isCornerInside
  )
    return isCornerInside ? 1 : 0;
  let inside = 0;
  for (let sample = 0; sample < SAMPLES ** 2; sample += 1)
    if (isInside(sample % SAMPLES, Math.floor(sample / SAMPLES))) inside += 1;
  return inside / SAMPLES ** 2;
}

function isSquare(x: number, y: number): boolean {
  const [beyondX, beyondY] = [Math.abs(x) - 0.55, Math.abs(y) - 0.55];
  return beyondX <= 0 || beyondY <= 0 || Math.hypot(beyondX, beyondY) <= 0.45;
}

/** An arch with an open door. */
function isGate(x: number, y: number): boolean {
  const isArch = (radius: number, bottom: number) =>
    y < -0.1 ? Math.hypot(x, y + 0.1) <= radius : Math.abs(x) <= radius && y <= bottom;
  return isArch(0.52, 0.6) && !isArch(0.28, 0.6);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const whole = Buffer.alloc(named.length + 8);
  whole.writeUInt32BE(data.length, 0);
  named.copy(whole, 4);
  whole.writeUInt32BE(crc32(named), named.length + 4);
  return whole;
}
