import { crc32, inflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { parseColour } from './colour.ts';
import { drawnIcon } from './drawn-icon.ts';

/** Decodes a PNG with a palette and without filters. */
function pixelsOf(png: Buffer): { size: number; pixel: (x: number, y: number) => number[] } {
  const chunks: Record<string, Buffer> = {};
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const named = png.subarray(at + 4, at + 8 + length);
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(named));
    chunks[named.toString('latin1', 0, 4)] = named.subarray(4);
    at += 12 + length;
  }
  const { IHDR, PLTE, tRNS, IDAT } = chunks;
  if (IHDR === undefined || PLTE === undefined || tRNS === undefined || IDAT === undefined) throw new Error('no PNG');
  const size = IHDR.readUInt32BE(0);
  const data = inflateSync(IDAT);
  expect(data.length).toBe(size * (1 + size));
  return {
    size,
    pixel(x, y) {
      const index = data[y * (1 + size) + 1 + x] ?? -1;
      return [...PLTE.subarray(index * 3, index * 3 + 3), tRNS[index] ?? -1];
    },
  };
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
