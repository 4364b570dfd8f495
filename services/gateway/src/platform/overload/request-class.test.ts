import { expect, it } from 'vitest';
import { requestClassOf } from './request-class.ts';

it.each([
  ['GET', '/livez', 'health'],
  ['GET', '/readyz', 'health'],
  ['POST', '/v1/elicitations', 'new'],
  ['GET', undefined, 'new'],
  ['GET', '/v1/events', 'wait'],
  ['HEAD', '/v1/events', 'read'],
  ['GET', '/v1/elicitations/:elicitationId', 'read'],
  ['HEAD', '/v1/connections', 'read'],
  ['GET', '/e/:elicitationId', 'read'],
  ['GET', '/login', 'read'],
  ['GET', '/me', 'read'],
  ['POST', '/v1/elicitations/:elicitationId/redeem', 'finish'],
  ['POST', '/v1/elicitations/:elicitationId/verify', 'finish'],
  ['POST', '/v1/elicitations/:elicitationId/cancel', 'finish'],
  ['POST', '/v1/connections/:connectionId/access-token', 'finish'],
  ['DELETE', '/v1/connections/:connectionId', 'finish'],
  ['POST', '/v1/credentials/:credentialId/values', 'finish'],
  ['POST', '/e/:elicitationId/accept', 'finish'],
  ['GET', '/e/:elicitationId/leaving', 'finish'],
  ['GET', '/login/callback/:identityProvider', 'finish'],
  ['GET', '/logout/callback/:identityProvider', 'finish'],
  ['GET', '/callback/:mcpServerId/:provider', 'finish'],
  ['POST', '/webhooks/:processor', 'finish'],
  ['GET', '/.well-known/jwks.json', 'finish'],
])('%s %s is %s', (method, route, expected) => {
  expect(requestClassOf(method, route)).toBe(expected);
});
