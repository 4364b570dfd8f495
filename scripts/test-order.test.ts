import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './child.ts';
import { inOrder, LONG_FILES } from './test-order.ts';

const file = (name: string, path: string) => ({ project: { name }, moduleId: join(root, path) });

test('every long file exists', () => {
  expect(LONG_FILES.filter(path => !existsSync(join(root, path)))).toEqual([]);
});

test('long files run first, then the projects one after the other, each in the order of vitest', () => {
  const long = LONG_FILES.map(path => file(path.startsWith('test/') ? 'system' : 'unit', path));
  const unit = [file('unit', 'a.test.ts'), file('unit', 'b.test.ts')];
  const [system, integration] = [file('system', 'c.test.ts'), file('integration', 'd.test.ts')];
  expect(inOrder([...unit, integration, system, ...long.toReversed()])).toEqual([
    ...[...long, system, integration],
    ...unit,
  ]);
});
