import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './child.ts';
import { inOrder, inShard, LONG_FILES } from './test-order.ts';

const file = (path: string) => ({ moduleId: join(root, path) });

test('every long file exists', () => {
  expect(LONG_FILES.filter(path => !existsSync(join(root, path)))).toEqual([]);
});

test('long files run first, then one kind after the other, each in the order of vitest', () => {
  const long = LONG_FILES.map(file);
  const unit = [file('packages/a/src/a.test.ts'), file('services/b/src/b.test.ts')];
  const system = file('test/c/c.test.ts');
  expect(inOrder([...unit, system, ...long.toReversed()])).toEqual([...long, system, ...unit]);
});

test('every file is in one shard, and the long ones are dealt out', () => {
  const files = [...LONG_FILES, ...Array.from({ length: 50 }, (_, nth) => `packages/a/src/a${nth}.test.ts`)].map(file);
  const shards = [1, 2, 3, 4].map(index => inShard(files.toReversed(), { index, count: 4 }));
  expect(shards.flat().toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1))).toEqual(
    files.toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1)),
  );
  const longest = shards.map(shard => shard.filter(({ moduleId }) => LONG_FILES.some(path => moduleId.endsWith(path))));
  const sizes = longest.map(({ length }) => length);
  expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
});
