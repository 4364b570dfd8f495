import { PosternUsageError } from '../errors.ts';

export {
  type Asked,
  accept,
  cancel,
  decline,
  fail,
  type Outcome,
  pending,
  type Revision,
  type Scripted,
  type TestScript,
} from './script.ts';
export type { TestPerson, Typed } from './test-gateway.ts';
export { startTestGateway, type TestGateway, type TestGatewayOptions } from './test-gateway.ts';

// In this folder, a script approves and no user does.
if (process.env['NODE_ENV'] === 'production')
  throw new PosternUsageError(
    'testing_in_production',
    '@postern/mcp/testing answers for the user. It does not load with NODE_ENV=production.',
  );
