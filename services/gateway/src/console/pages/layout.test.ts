import { Script } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { consoleScript } from './layout.ts';

test('S168: the script of the console is valid, less than 4 KB compressed, and its path is a hash of it', () => {
  expect(new Script(consoleScript.body)).toBeInstanceOf(Script);
  expect(gzipSync(consoleScript.body).length).toBeLessThan(4 * 1024);
  expect(consoleScript.path).toMatch(/^\/assets\/console-[A-Za-z0-9_-]{16}\.js$/);
});

test('S168: the script turns no text into markup or code, and stores nothing', () => {
  expect(consoleScript.body).not.toMatch(
    /innerHTML|outerHTML|insertAdjacentHTML|DOMParser|document\.write|eval|Function\(|import|localStorage|sessionStorage|indexedDB|cookie/,
  );
});
