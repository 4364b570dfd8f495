import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './child.ts';
import { inOrder, LONG_FILES } from './test-order.ts';

const file = (name: string, path: string) => ({ project: { name }, moduleId: join(root, path) });

test('every long file exists', () => {
  expect(LONG_FILES.filter(path => !existsSync(join(root, path)))).toEqual([]);
});

test('system tests run first, long files of a project before its others, the others in the order of vitest', () => {
  const [images, packages] = LONG_FILES.map(path => file('system', path));
  const [unit, other, system] = [file('unit', 'a.test.ts'), file('unit', 'b.test.ts'), file('system', 'c.test.ts')];
  const page = file('unit', 'packages/pages/src/every-page.browser.test.ts');
  const integration = file('integration', 'd.test.ts');
  expect(inOrder([unit, system, other, integration, page, packages, images])).toEqual([
    ...[images, packages, system, integration],
    ...[page, unit, other],
  ]);
});
