import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './child.ts';
import { inOrder, LONG_FILES } from './test-order.ts';

const file = (path: string) => ({ moduleId: join(root, path) });

test('every long file exists', () => {
  expect(LONG_FILES.filter(path => !existsSync(join(root, path)))).toEqual([]);
});

test('long files run first, then one kind after the other, each in the order of vitest', () => {
  const long = LONG_FILES.map(file);
  const unit = [file('packages/a/src/a.test.ts'), file('services/b/src/b.test.ts')];
  const [system, integration] = [file('test/c/c.test.ts'), file('packages/d/src/d.integration.test.ts')];
  expect(inOrder([...unit, integration, system, ...long.toReversed()])).toEqual([
    ...[...long, system, integration],
    ...unit,
  ]);
});
