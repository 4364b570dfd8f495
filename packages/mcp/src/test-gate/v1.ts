import type { Sdk } from '../v1/gate.ts';
import type { TestScript } from './script.ts';
import { createTestGate, type TestGate as GenericTestGate } from './test-gate.ts';

export * from './common.ts';

export type TestGate = GenericTestGate<Sdk>;

/**
 * A gate for unit tests of tools: a scripted user answers each ask at once, without gateway and network. Everything else is as in
 * production: terms and options are checked, a refusal ends the call, content is checked against its schema.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function testGate(script?: TestScript): TestGate {
  return createTestGate<Sdk>(script);
}
