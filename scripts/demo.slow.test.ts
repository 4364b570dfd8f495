import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { root } from './child.ts';
import { findProgram } from './setup.mjs';

const { scripts } = z
  .object({ scripts: z.object({ demo: z.string() }) })
  .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
const chapters = ['Bob opens Alice’s link', 'Alice manages her connections', 'Alice deletes her API key'];

/** The PATH has Node.js and a chromium, but neither redis-server nor sudo and apt-get, which could install it. */
describe('pnpm demo without Redis', () => {
  let path: string;
  beforeAll(() => {
    path = mkdtempSync(join(tmpdir(), 'postern-demo-path-'));
    symlinkSync(process.execPath, join(path, 'node'));
    const chromium = ['chromium-headless-shell', 'chromium', 'chromium-browser'].map(findProgram).find(Boolean);
    if (chromium !== undefined) symlinkSync(chromium, join(path, 'chromium'));
  });
  afterAll(() => rmSync(path, { recursive: true }));

  /** Runs the script of package.json, as pnpm does. */
  function demo(...args: readonly string[]) {
    const env = { ...process.env, PATH: path };
    const child = spawn('/bin/sh', ['-c', `${scripts.demo} ${args.join(' ')}`], { cwd: root, env });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text));
    return { child, output: () => output, ended: ended(child) };
  }

  test('--unattended plays every other chapter, ends with 0, and names at the start and at the end what it left out', async () => {
    const run = demo('--unattended');
    expect([await run.ended, run.output()]).toEqual([0, expect.stringContaining('54 steps that need no Redis worked')]);
    const output = run.output();
    expect(output.match(/^ {2}✓ /gm)).toHaveLength(54);
    expect(output).toContain('setup: Continuing without it.');
    for (const chapter of chapters) expect(output.split(chapter)).toHaveLength(3);
    expect(output.match(/3 chapters with\s12 steps/g)).toHaveLength(2);
  });

  test('the attended demo names the same on its screen, and its page has no card that needs Redis', async () => {
    const run = demo();
    await expect.poll(run.output).toContain('Ctrl-C stops the demo');
    try {
      for (const chapter of chapters) expect(run.output().split(chapter)).toHaveLength(2);
      const tryItUrl = /^Open (\S+) in a browser/m.exec(run.output())?.[1] ?? '';
      const page = await (await fetch(tryItUrl)).text();
      expect(page).toContain('Connect an account');
      expect(page).not.toContain('wrong-person');
      expect(page).toContain('the terminal names what this demo leaves out');
    } finally {
      run.child.kill('SIGTERM');
    }
    expect(await run.ended).toBe(0);
  });
});

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise(resolve => child.once('close', resolve));
}
