import { Script } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { pageScript } from './page-script.ts';

test('the path contains a hash of the content', () => {
  expect(pageScript.path).toMatch(/^\/assets\/postern-[A-Za-z0-9_-]{16}\.js$/);
});

test('the script is valid, has no comments, and is less than 6 KB compressed', () => {
  expect(new Script(pageScript.body)).toBeInstanceOf(Script);
  expect(pageScript.body).not.toMatch(/^\s*(?:\/\/|\/\*|\*)/m);
  expect(gzipSync(pageScript.body).length).toBeLessThan(6 * 1024);
});

test('S113: the script turns no text into markup or code, and stores only the time zone', () => {
  expect(pageScript.body).not.toMatch(
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function\(|import|localStorage|sessionStorage|indexedDB|cookieStore/,
  );
  expect(pageScript.body.match(/document\.cookie = .*/g)).toEqual([
    'document.cookie = `${name}=${choices}; ${flags}`;',
  ]);
});
