import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lateModules } from './fill-compile-cache.ts';

test('lateModules() lists every dynamically imported module and thread of the gateway and of the packages', () => {
  const modules = lateModules();
  expect(modules).toContain('packages/payment/src/stripe-processor.ts');
  expect(modules).toContain('services/gateway/src/events/webhooks/webhooks.ts');
  expect(modules).toContain('services/gateway/src/entries/pattern-worker.ts');
  const workspace = join(import.meta.dirname, '../../../..');
  expect(modules.filter(path => !existsSync(join(workspace, path)))).toEqual([]);
});
