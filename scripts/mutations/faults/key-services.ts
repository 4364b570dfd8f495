import type { Fault } from '../fault.ts';

const contentKeys = {
  file: 'packages/vault/src/content-keys.ts',
  foundBy: ['packages/vault/src/content-keys.test.ts'],
} as const;
const guard = {
  file: 'services/gateway/src/sealing/key-services/guarded-key-service.ts',
  foundBy: ['services/gateway/src/sealing/key-services/guarded-key-service.test.ts'],
} as const;
const transit = {
  file: 'services/gateway/src/sealing/key-services/vault-transit.ts',
  foundBy: ['services/gateway/src/sealing/key-services/vault-transit.test.ts'],
} as const;
const openVault = {
  file: 'services/gateway/src/sealing/open-vault.ts',
  foundBy: ['services/gateway/src/sealing/open-vault.test.ts'],
} as const;

export const keyServicesFaults: readonly Fault[] = [
  {
    ...contentKeys,
    name: 'content keys: more are kept than configured',
    breaks: 'S120',
    original: 'if (kept.size > count && oldest !== undefined) kept.delete(oldest);',
    replacement: '',
  },
  {
    ...contentKeys,
    name: 'content keys: an expired one opens its value',
    breaks: 'S120',
    original: 'if (found !== undefined && found.until > now()) return found.key;',
    replacement: 'if (found !== undefined) return found.key;',
  },
  {
    ...contentKeys,
    name: 'content keys: an idle process keeps them',
    breaks: 'S120',
    original: 'if (timer === undefined) removeExpired();',
    replacement: '',
  },
  {
    ...contentKeys,
    name: 'content keys: one value takes many requests at once',
    breaks: 'S120',
    original: 'unwrapping.get(id) ?? unwrapOnce(id, unwrap)',
    replacement: 'unwrapOnce(id, unwrap)',
  },
  {
    ...contentKeys,
    name: 'content keys: a wrong one stays',
    breaks: 'S160',
    original: 'drop: of => void kept.delete(idOf(of)),',
    replacement: 'drop: () => {},',
  },
  {
    name: 're-wrapping trusts a key service that wraps wrongly',
    breaks: 'S160',
    file: 'packages/vault/src/vault.ts',
    original: "if ('service' in ring.current) {",
    replacement: 'if (ring.kids.length === 0) {',
    foundBy: contentKeys.foundBy,
  },
  {
    name: 'the error of a key service is shown',
    breaks: 'S120',
    file: 'packages/vault/src/service-calls.ts',
    original: 'throw unavailable(call.kid, new KeyServiceError(keyServiceFaultOf(error)));',
    replacement: 'throw error;',
    foundBy: ['packages/vault/src/key-services.test.ts'],
  },
  {
    ...guard,
    name: 'key service: calls queue without a limit',
    breaks: 'S122',
    original: "else if (queue.size >= maxQueued) throw new KeyServiceError('overloaded');\n      ",
    replacement: '',
  },
  {
    ...guard,
    name: 'key service: all calls are sent at once',
    breaks: 'S122',
    original: 'if (taken < count) taken += 1;',
    replacement: 'if (taken < count * 100) taken += 1;',
  },
  {
    ...guard,
    name: 'key service: timeouts do not pause it',
    breaks: 'S122',
    original: "if (fault === 'timeout') passage.timedOut();",
    replacement: "if (fault === 'timeout') passage.answered();",
    only: 'frees the places',
  },
  {
    ...guard,
    name: 'key service: a recovery is not noticed',
    breaks: 'S122',
    original: "note(answer.result === 'unknown_key' ? 'key_unusable' : undefined);",
    replacement: '',
  },
  {
    ...openVault,
    name: 'a sign-in is sealed by the key service',
    breaks: 'S121',
    original: '(lastingPurposes.has(purpose) ? lasting : transactions)',
    replacement: '(lastingPurposes.size > 0 ? lasting : transactions)',
  },
  {
    ...openVault,
    name: 'replicas without the key service cannot open what one with it seals',
    breaks: 'S121',
    original: '? [...local, derived] : [derived, ...local]',
    replacement: '? [derived, ...local] : [derived, ...local]',
  },
  {
    name: 'an OAuth transaction lasts, so strangers cause requests to the key service',
    breaks: 'S121',
    file: 'services/gateway/src/sealing/seal-contexts.ts',
    original: "  'connection',\n  'result',\n",
    replacement: "  'connection',\n  'authorization-transaction',\n  'result',\n",
    foundBy: openVault.foundBy,
  },
  {
    ...transit,
    name: 'Transit: any version of the key opens',
    breaks: 'S120',
    original: "if (!ciphertext.startsWith(prefix)) return { result: 'not_authentic' };",
    replacement: '',
    foundBy: openVault.foundBy,
  },
  {
    ...transit,
    name: 'Transit: the context is not authenticated',
    breaks: 'S50',
    original: "const body = { ciphertext, associated_data: Buffer.from(context).toString('base64') };",
    replacement: "const body = { ciphertext, associated_data: '' };",
  },
  {
    ...transit,
    name: 'Transit: a version that is disallowed counts as lost',
    breaks: 'S120',
    original: "[/version is too new|too old|requested version|no such key version/, 'key_unusable'],",
    replacement: "[/version is too new|too old|requested version|no such key version/, 'not_authentic'],",
  },
  {
    name: 'AWS KMS: the context is not authenticated',
    breaks: 'S50',
    file: 'services/gateway/src/sealing/key-services/aws-kms.ts',
    original: "EncryptionContext: { 'postern-context': context }",
    replacement: "EncryptionContext: { 'postern-context': 'context' }",
    foundBy: ['services/gateway/src/sealing/key-services/aws-kms.test.ts'],
  },
  {
    name: 'a configuration without a local key needs no key for receipts',
    breaks: 'S120',
    file: 'services/gateway/src/platform/config/cross-faults.ts',
    original: 'if (config.receipts.keys === undefined && !config.vault.keys.some(isLocalKey))',
    replacement: 'if (config.vault.keys.length === 0)',
    foundBy: ['services/gateway/src/platform/config/load-config.test.ts'],
  },
  {
    name: 'a revocation ends when its tokens cannot be opened once',
    breaks: 'S24',
    file: 'services/gateway/src/authorization/revocation-flow.ts',
    original: '      return postpone(revocation, error.code);\n',
    replacement: "      await finish('abandoned', error.code);\n      return 'unsupported';\n",
    foundBy: ['services/gateway/src/authorization/revocation-flow.test.ts'],
  },
];
