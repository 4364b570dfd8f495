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
  const long = LONG_FILES.filter(path => path.startsWith('test/')).map(path => file('system', path));
  const unit = [file('unit', 'a.test.ts'), file('unit', 'b.test.ts')];
  const page = file('unit', 'packages/pages/src/every-page.browser.test.ts');
  const [system, integration] = [file('system', 'c.test.ts'), file('integration', 'd.test.ts')];
  expect(inOrder([...unit, system, integration, page, ...long.toReversed()])).toEqual([
    ...[...long, system, integration],
    ...[page, ...unit],
  ]);
});
