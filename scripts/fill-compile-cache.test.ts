import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './child.ts';
import { lateModules } from './fill-compile-cache.ts';

test('what is loaded late is found, wherever it is', () => {
  const modules = lateModules();
  expect(modules).toContain('packages/payment/src/stripe-processor.ts');
  expect(modules).toContain('services/gateway/src/webhooks/webhooks.ts');
  expect(modules.filter(path => !existsSync(join(root, path)))).toEqual([]);
});
