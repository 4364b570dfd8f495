import { issueElicitationSchema } from '@postern/api';
import { apiKeyRequest, bookTerms, deletion, deliveryForm } from '../../support/asks.ts';

/** Requests with every member that the contract has, so that each member can be the faulty one. */
export const completeAsks = [
  {
    kind: 'authorization',
    authorization: { provider: 'forge', scopes: ['repo'] },
    message: 'Connect Code Forge',
    requestedBy: { mcpClient: 'Host', tool: 'tool' },
  },
  { kind: 'payment', payment: { ...bookTerms, processor: 'none' } },
  {
    kind: 'confirmation',
    confirmation: {
      ...deletion,
      facts: [
        ...deletion.facts,
        { type: 'amount', label: 'Sum', value: { currency: 'EUR', minorUnits: 1 } },
        { type: 'time', label: 'When', value: '2026-01-01T00:00:00Z' },
        { type: 'host', label: 'Where', value: 'example.com' },
      ],
    },
  },
  { kind: 'credential', credential: { ...apiKeyRequest, retention: 'lasting', rejectedGeneration: 1 } },
  { kind: 'form', form: { ...deliveryForm, secretFields: ['name'] } },
] as const;

/** Returns whether a damaged request is valid by the contract: a replaced string, number or list may make another valid request. */
export function isValidAsk(json: string): boolean {
  try {
    return issueElicitationSchema.safeParse(JSON.parse(json)).success;
  } catch {
    return false;
  }
}
