import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createSqliteStores } from '@postern/store-sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { preparePersonal } from '../../local/prepare-personal.ts';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import { loadConfig } from '../../platform/config/load-config.ts';
import { checkStore } from './store-check.ts';

let folder: string;
let config: GatewayConfig;
const path = (name: string) => join(folder, name);
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postern-store-check-'));
  config = loadConfig((await preparePersonal(folder)).config, {});
  await createSqliteStores({ path: path('good.sqlite'), now: Date.now }).close();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function findingOf(file: string): Promise<string> {
  const found = await checkStore({ ...config, store: { ...config.store, file } }, () => {
    throw new Error('there is no Redis');
  });
  return found.map(({ check, status, message }) => `${check} ${status}: ${message}`).join('\n');
}

describe('the file of the store', () => {
  test.each([
    ['of text', 'text', (file: string) => writeFileSync(file, 'no database'), 'is not a file of Postern'],
    [
      'of another program',
      'other',
      (file: string) => {
        using database = new DatabaseSync(file);
        database.exec('CREATE TABLE t (x)');
      },
      'is not a file of Postern',
    ],
    [
      'of another layout',
      'layout',
      (file: string) => {
        copyFileSync(path('good.sqlite'), file);
        using database = new DatabaseSync(file);
        database.exec('PRAGMA user_version = 99');
      },
      'has layout 99',
    ],
    [
      'that is damaged',
      'damaged',
      (file: string) => {
        const damaged = readFileSync(path('good.sqlite'));
        damaged.fill(7, 4_096);
        writeFileSync(file, damaged);
      },
      'is damaged',
    ],
    ['that is a folder', '.', () => {}, 'is not a file of Postern'],
    ['below a file', 'good.sqlite/below', () => {}, 'is not a folder'],
  ])('%s fails, as the start does', async (_, name, make, why) => {
    make(path(name));
    const finding = await findingOf(path(name));
    expect(finding).toContain('store.file failed: ');
    expect(finding).toContain(why);
  });

  test('is fine if a gateway has it, if none has it, and if there is none yet', async () => {
    expect(await findingOf(path('good.sqlite'))).toContain('store.file ok: ');
    const held = createSqliteStores({ path: path('held.sqlite'), now: Date.now });
    expect(await findingOf(path('held.sqlite'))).toContain('store.file ok: ');
    await held.close();
    expect(await findingOf(path('new/new.sqlite'))).toContain('store.file ok: ');
    expect(existsSync(path('new'))).toBe(false);
  });
});
