import type { Sdk } from '../v1/gate.ts';
import type { TestScript } from './script.ts';
import { createTestGate, type TestGate as GenericTestGate } from './test-gate.ts';

export * from './common.ts';

export type TestGate = GenericTestGate<Sdk>;

/**
 * A gate for unit tests of tools: a scripted user answers, without gateway and network. As in production, the handler runs again from
 * its first line after each answer, terms and options are checked, a refusal ends the call, and content is checked against its schema.
 * A test fails where the handler does not await an ask, asks with other terms in a later run, or sends a request that changes
 * something before an ask. What a page shows, and what a gateway's configuration allows, needs `startTestGateway`.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function testGate(script: TestScript = {}): TestGate {
  return createTestGate<Sdk>(script, '2025-11-25');
}
