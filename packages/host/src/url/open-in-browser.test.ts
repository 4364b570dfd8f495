import { expect, test } from 'vitest';
import { systemBrowser } from './open-in-browser.ts';

function recorder() {
  const started: (readonly string[])[] = [];
  const spawn = async (program: string, args: readonly string[]) => started.push([program, ...args]) > 0;
  return { started, spawn };
}

test.each([
  ['darwin', ['open']],
  ['linux', ['xdg-open']],
  ['win32', ['rundll32', 'url.dll,FileProtocolHandler']],
] as const)('on %s the URL is a single argument of the opener', async (platform, command) => {
  const { started, spawn } = recorder();
  const open = systemBrowser({ platform, env: { DISPLAY: ':0' }, spawn });
  const href = 'https://example.com/?a=1&b=$(id)`id`;id|id';
  expect(await open(href)).toBe(true);
  expect(started).toEqual([[...command, new URL(href).href]]);
});

test('starts no process without a desktop, on an unknown platform, or for other URLs than web addresses', async () => {
  const { started, spawn } = recorder();
  expect(await systemBrowser({ platform: 'linux', env: {}, spawn })('https://example.com/')).toBe(false);
  expect(await systemBrowser({ platform: 'aix', env: { DISPLAY: ':0' }, spawn })('https://example.com/')).toBe(false);
  expect(await systemBrowser({ platform: 'darwin', env: {}, spawn })('file:///etc/passwd')).toBe(false);
  expect(await systemBrowser({ platform: 'darwin', env: {}, spawn })('-a Calculator')).toBe(false);
  expect(started).toEqual([]);
});

test('starts a real program, and reports failure if it does not exist', async () => {
  expect(await systemBrowser({ command: [process.execPath, '--version'] })('https://example.com/')).toBe(true);
  expect(await systemBrowser({ command: ['/nonexistent/browser'] })('https://example.com/')).toBe(false);
});
