import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drawnIcon } from '@postern/pages';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sampleConfig, sampleMcpServer } from '../../testing/sample-config.ts';
import { ConfigError } from './config-error.ts';
import { readImage } from './image-type.ts';
import { parseConfig } from './load-config.ts';

const png = drawnIcon({ red: 11, green: 101, blue: 92 }, 64);
const jpegScan = Buffer.from([
  ...[0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0, 16, 0, 32, 1, 1, 0x11, 0],
  ...[0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 1, 2, 3, 0xff, 0xd9],
]);

function webp(kind: 'VP8X' | 'VP8L' | 'VP8 '): Buffer {
  const bytes = Buffer.alloc(30);
  bytes.write('RIFF', 0, 'latin1');
  bytes.writeUInt32LE(22, 4);
  bytes.write(`WEBP${kind}`, 8, 'latin1');
  if (kind === 'VP8X') bytes.set([31, 0, 0, 15, 0, 0], 24);
  if (kind === 'VP8L') bytes.writeUInt32LE(31 | (15 << 14), 21);
  if (kind === 'VP8 ') bytes.set([32, 0, 16, 0], 26);
  return bytes;
}

/** A PNG whose header names another size. */
function withSize(width: number, height: number): Buffer {
  const bytes = Buffer.from(png);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-images-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const load = (light = 'logo.png', imagesFolder: string | undefined = folder) =>
  parseConfig(sampleConfig({ branding: { imagesFolder, logo: { light } } }));

function faultsOf(run: () => unknown): readonly { path: string; message: string }[] {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

test.each([
  ['PNG', png, { type: 'image/png', width: 64, height: 64 }],
  ['JPEG', jpegScan, { type: 'image/jpeg', width: 32, height: 16 }],
  ['WebP, extended', webp('VP8X'), { type: 'image/webp', width: 32, height: 16 }],
  ['WebP, lossless', webp('VP8L'), { type: 'image/webp', width: 32, height: 16 }],
  ['WebP, lossy', webp('VP8 '), { type: 'image/webp', width: 32, height: 16 }],
])('S107: reads type and size of a %s from its content', (_name, bytes, facts) => {
  expect(readImage(bytes)).toEqual(facts);
});

const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const gif = Buffer.from('GIF89a\x01\x00\x01\x00\x00\x00\x00;', 'latin1');

test.each([
  ['nothing', Buffer.alloc(0)],
  ['SVG with a script', Buffer.from(svg)],
  ['SVG behind an XML declaration', Buffer.from(`<?xml version="1.0"?>\n${svg}`)],
  ['HTML', Buffer.from('<!doctype html><script>alert(1)</script>')],
  ['GIF that is also a script', Buffer.concat([gif, Buffer.from('/*'), Buffer.from('*/=1;alert(1)')])],
  ['PNG followed by HTML', Buffer.concat([png, Buffer.from('<script>alert(1)</script>')])],
  ['PNG without an end', png.subarray(0, -12)],
  ['PNG with only a signature', png.subarray(0, 8)],
  [
    'PNG with an endless chunk',
    Buffer.concat([png.subarray(0, 33), Buffer.from([255, 255, 255, 255]), Buffer.from('IDAT')]),
  ],
  ['PNG wider than allowed', withSize(2049, 1)],
  ['PNG of 4 gigapixels', withSize(65_535, 65_535)],
  ['PNG of negative size', withSize(0xffffffff, 0xffffffff)],
  ['PNG without pixels', withSize(0, 10)],
  ['JPEG without a frame header', Buffer.from([0xff, 0xd8, 0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0xff, 0xd9])],
  ['JPEG followed by HTML', Buffer.concat([jpegScan, Buffer.from('<script>')])],
  ['JPEG of marker bytes only', Buffer.alloc(4096, 0xff)],
  ['JPEG with a segment of no length', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
  ['WebP followed by HTML', Buffer.concat([webp('VP8X'), Buffer.from('<script>')])],
  ['WebP that promises more', webp('VP8X').subarray(0, 29)],
  ['WebP of an unknown kind', Buffer.from(webp('VP8X').toString('latin1').replace('VP8X', 'EVIL'), 'latin1')],
])('S107: refuses %s, and names the path in the configuration', (_name, bytes) => {
  writeFileSync(join(folder, 'logo.png'), bytes);
  expect(faultsOf(load).map(({ path }) => path)).toEqual(['branding.logo.light']);
});

test('S107: says that an SVG is refused because it can contain scripts', () => {
  writeFileSync(join(folder, 'logo.svg'), svg);
  expect(faultsOf(() => load('logo.svg'))[0]?.message).toMatch(/logo\.svg .*SVG can contain scripts/);
});

test('S107: refuses a missing file, a folder, a pipe and a file that is too large', () => {
  const messageOf = () => faultsOf(load)[0]?.message;
  expect(messageOf()).toMatch(/does not exist/);
  mkdirSync(join(folder, 'logo.png'));
  expect(messageOf()).toMatch(/no regular file/);
  rmSync(join(folder, 'logo.png'), { recursive: true });
  execFileSync('sh', ['-c', 'mkfifo "$0"', join(folder, 'logo.png')]);
  expect(messageOf()).toMatch(/no regular file/);
  rmSync(join(folder, 'logo.png'));
  writeFileSync(join(folder, 'logo.png'), png);
  truncateSync(join(folder, 'logo.png'), 262_145);
  expect(messageOf()).toMatch(/262145 bytes/);
});

test.each(['../logo.png', '/etc/passwd', 'a/logo.png', '.hidden.png', 'a\0.png', '..', 'a\\logo.png', ''])(
  'S107: refuses %j as the name of an image',
  name => {
    expect(faultsOf(() => load(name)).map(({ path }) => path)).toEqual(['branding.logo.light']);
  },
);

test('S107: follows a link within the folder, and none that leads out of it', () => {
  const outside = mkdtempSync(join(tmpdir(), 'postern-images-'));
  try {
    writeFileSync(join(outside, 'secret.png'), png);
    symlinkSync(join(outside, 'secret.png'), join(folder, 'logo.png'));
    expect(faultsOf(load).map(({ message }) => message)).toEqual([expect.stringContaining('leads out of')]);
    // A sibling whose name begins like the folder is outside, too.
    mkdirSync(`${folder}-2`);
    writeFileSync(join(`${folder}-2`, 'secret.png'), png);
    rmSync(join(folder, 'logo.png'));
    symlinkSync(join(`${folder}-2`, 'secret.png'), join(folder, 'logo.png'));
    expect(faultsOf(load).map(({ message }) => message)).toEqual([expect.stringContaining('leads out of')]);
    rmSync(join(folder, 'logo.png'));
    mkdirSync(join(folder, '..data'));
    writeFileSync(join(folder, '..data', 'logo.png'), png);
    symlinkSync(join('..data', 'logo.png'), join(folder, 'logo.png'));
    expect(load().images.get('logo.png')?.body).toEqual(png);
  } finally {
    rmSync(outside, { recursive: true });
    rmSync(`${folder}-2`, { recursive: true, force: true });
  }
});

test('names the path of every image, and needs a folder', () => {
  const logo = { light: 'a.png', dark: 'b.png' };
  const config = sampleConfig({
    branding: { imagesFolder: folder, logo, icon: 'c.png' },
    mcpServers: [{ ...sampleMcpServer, logo: { light: 'd.png' }, branding: { logo: { light: 'e.png' } } }],
    providers: [
      { name: 'forge', displayName: 'Forge', issuer: 'https://forge.example', clientId: 'x', logo: { light: 'f.png' } },
    ],
  });
  expect(faultsOf(() => parseConfig(config)).map(({ path }) => path)).toEqual([
    'branding.logo.light',
    'branding.logo.dark',
    'branding.icon',
    'mcpServers[0].logo.light',
    'mcpServers[0].branding.logo.light',
    'providers[0].logo.light',
  ]);
  const withoutFolder = sampleConfig({ branding: { logo: { light: 'a.png' } } });
  expect(faultsOf(() => parseConfig(withoutFolder))).toEqual([
    { path: 'branding.logo.light', message: 'needs branding.imagesFolder' },
  ]);
});

test('the path of an image contains a hash of its content, and follows its type, not its name', () => {
  writeFileSync(join(folder, 'logo.png'), png);
  const before = load().images.get('logo.png');
  expect(before?.path).toMatch(/^\/images\/[\w-]{16}\.png$/);
  writeFileSync(join(folder, 'logo.png'), jpegScan);
  const after = load().images.get('logo.png');
  expect(after?.path).toMatch(/^\/images\/[\w-]{16}\.jpg$/);
  expect(before?.body).toEqual(png);
});
