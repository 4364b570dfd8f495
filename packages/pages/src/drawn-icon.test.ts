import { crc32, inflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { parseColour } from './colour.ts';
import { drawnIcon } from './drawn-icon.ts';

/** Decodes a PNG with 8 bits of red, green, blue and alpha without filters. */
function pixelsOf(png: Buffer): { size: number; pixel: (x: number, y: number) => number[] } {
  let data = Buffer.alloc(0);
  let size = 0;
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const named = png.subarray(at + 4, at + 8 + length);
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(named));
    if (named.toString('latin1', 0, 4) === 'IHDR') size = named.readUInt32BE(4);
    if (named.toString('latin1', 0, 4) === 'IDAT') data = inflateSync(named.subarray(4));
    at += 12 + length;
  }
  expect(data.length).toBe(size * (1 + size * 4));
  const start = (x: number, y: number) => y * (1 + size * 4) + 1 + x * 4;
  return { size, pixel: (x, y) => [...data.subarray(start(x, y), start(x, y) + 4)] };
}

test.each([
  ['#0b655c', [255, 255, 255, 255]],
  ['#ffe01b', [0, 0, 0, 255]],
])('draws a gate on %s in the colour that contrasts', (colour, ink) => {
  const ground = parseColour(colour);
  const { size, pixel } = pixelsOf(drawnIcon(ground, 48));
  expect(size).toBe(48);
  expect(pixel(0, 0)[3]).toBe(0);
  expect(pixel(24, 2)).toEqual([ground.red, ground.green, ground.blue, 255]);
  expect(pixel(15, 30)).toEqual(ink);
  expect(pixel(24, 30)).toEqual([ground.red, ground.green, ground.blue, 255]);
});
