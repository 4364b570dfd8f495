import { apiKeyRequest, deletion, deliveryForm, issueFor, paymentOf } from './asks.ts';
import type { Stage } from './stage.ts';
import type { ElicitationAnswer } from './world.ts';

/** One ask of each kind without a provider, and what a person types who agrees to it. */
export const askOfEach = {
  payment: { ask: () => paymentOf({ processor: 'none' }), typed: {} },
  confirmation: { ask: () => ({ kind: 'confirmation', confirmation: deletion }) as const, typed: {} },
  credential: {
    ask: () => ({ kind: 'credential', credential: apiKeyRequest }) as const,
    typed: { api_key: 'ak_0123456789abcdef' },
  },
  form: {
    ask: () => ({ kind: 'form', form: deliveryForm }) as const,
    typed: { name: 'Alice', parcels: '2' },
  },
} as const satisfies Record<
  string,
  { ask: () => Parameters<typeof issueFor>[2]; typed: Readonly<Record<string, string>> }
>;

export type AskedKind = keyof typeof askOfEach;
export const askedKinds = Object.keys(askOfEach) as readonly AskedKind[];

type Extras = Partial<Pick<Parameters<typeof issueFor>[2], 'message' | 'requestedBy' | 'ttlSeconds' | 'returnUrl'>>;

/** @throws when it is not issued */
export function askKind(stage: Stage, user: string, kind: AskedKind, more: Extras = {}): Promise<ElicitationAnswer> {
  return issueFor(stage, user, { ...askOfEach[kind].ask(), ...more });
}
