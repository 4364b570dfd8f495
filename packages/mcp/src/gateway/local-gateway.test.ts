import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { PosternOptions } from '../gate/environment.ts';
import { completed } from './local-gateway.ts';

const local = { url: 'http://127.0.0.1:4480', apiKey: `pk_${'l'.repeat(40)}` };
const invalid = expect.objectContaining({ code: 'invalid_options' });

let home: string;
let project: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'postern-local-')));
  project = join(home, 'project');
  mkdirSync(project);
  vi.spyOn(process, 'cwd').mockReturnValue(project);
  vi.stubEnv('POSTERN_URL', '');
  vi.stubEnv('POSTERN_API_KEY', '');
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

/** Writes what `postern dev` writes. */
function folderIn(parent: string, file: unknown = local, modes = { folder: 0o700, file: 0o600 }): string {
  const folder = join(parent, '.postern');
  mkdirSync(folder);
  writeFileSync(join(folder, 'mcp-server.json'), typeof file === 'string' ? file : JSON.stringify(file));
  chmodSync(join(folder, 'mcp-server.json'), modes.file);
  chmodSync(folder, modes.folder);
  return folder;
}
const settings = (options: PosternOptions<unknown> = {}) => {
  const found = completed(options);
  return found && { url: found.url, apiKey: found.apiKey };
};

describe('the address and key of the gateway', () => {
  test('come from the options before the environment, and from the environment before a folder', () => {
    folderIn(project);
    vi.stubEnv('POSTERN_URL', 'https://env.example');
    vi.stubEnv('POSTERN_API_KEY', 'env-key\n');
    expect(settings()).toEqual({ url: 'https://env.example', apiKey: 'env-key' });
    expect(settings({ url: 'https://gate.example', apiKey: 'k' })).toEqual({
      url: 'https://gate.example',
      apiKey: 'k',
    });
    expect(settings({ apiKey: 'k' })).toEqual({ url: 'https://env.example', apiKey: 'k' });
  });

  test('come from the nearest folder above the working directory', () => {
    folderIn(home, { ...local, url: 'http://127.0.0.1:1' });
    expect(settings()?.url).toBe('http://127.0.0.1:1');
    // The data of a private Redis is in such a folder as well.
    mkdirSync(join(project, '.postern'));
    expect(settings()?.url).toBe('http://127.0.0.1:1');
    rmSync(join(project, '.postern'), { recursive: true });
    folderIn(project);
    expect(settings()).toEqual(local);
  });

  test('S110: are never a mixture of options, environment and folder', () => {
    folderIn(project);
    expect(() => settings({ apiKey: 'k' })).toThrow(invalid);
    vi.stubEnv('POSTERN_API_KEY', 'env-key');
    expect(() => settings()).toThrow(invalid);
    vi.stubEnv('POSTERN_API_KEY', '');
    vi.stubEnv('POSTERN_URL', 'https://gate.example');
    expect(settings()).toEqual({ url: 'https://gate.example', apiKey: undefined });
  });

  test('are missing without any of them', () => {
    expect(settings()).toBeUndefined();
  });
});

describe('S110: a folder is refused', () => {
  test.each([
    ['a folder that others may open', local, { folder: 0o710, file: 0o600 }],
    ['a file that others may read', local, { folder: 0o700, file: 0o604 }],
    ['a gateway on another machine', { ...local, url: 'http://gate.example' }, undefined],
    ['a host that only looks like this machine', { ...local, url: 'http://127.0.0.1.example.com' }, undefined],
    ['a file that is not JSON', 'canary', undefined],
    ['a file without a key', { url: local.url }, undefined],
    ['a large file', { ...local, padding: 'x'.repeat(5_000) }, undefined],
  ] as const)('%s', (_, file, modes) => {
    folderIn(project, file, modes);
    expect(() => settings()).toThrow(invalid);
    expect(() => settings()).not.toThrow(/canary|pk_/);
  });

  test('a link in place of the file', () => {
    const elsewhere = folderIn(home);
    mkdirSync(join(project, '.postern'), { mode: 0o700 });
    symlinkSync(join(elsewhere, 'mcp-server.json'), join(project, '.postern/mcp-server.json'));
    expect(() => settings()).toThrow(invalid);
  });

  test('a link in place of the folder', () => {
    mkdirSync(join(home, 'elsewhere'));
    symlinkSync(folderIn(join(home, 'elsewhere')), join(project, '.postern'));
    expect(settings()).toBeUndefined();
  });

  test.skipIf(process.getuid === undefined)('the folder of another user, which is skipped', () => {
    folderIn(home);
    folderIn(project, { ...local, url: 'http://127.0.0.1:1' });
    const own = process.getuid?.() ?? 0;
    vi.spyOn(process as { getuid(): number }, 'getuid').mockReturnValue(own + 1);
    expect(settings()).toBeUndefined();
  });
});
