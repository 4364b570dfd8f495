import { acceptWith, apiKeyRequest, deletion, deliveryForm, issueFor, paymentOf } from './asks.ts';
import type { RawAnswer, RawBrowser } from './raw-browser.ts';
import type { ElicitationAnswer, World } from './world.ts';

type Ask = Parameters<typeof issueFor>[2];

/** A request of each kind without a provider, and the values that an approving user enters. */
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
} as const satisfies Record<string, { ask: () => Ask; typed: Readonly<Record<string, string>> }>;

export type AskedKind = keyof typeof askOfEach;
export const askedKinds = Object.keys(askOfEach) as readonly AskedKind[];

export type AnyKind = AskedKind | 'authorization';
export const allKinds: readonly AnyKind[] = ['authorization', ...askedKinds];

const authorizationOf = (): Ask => ({ kind: 'authorization', authorization: { provider: 'forge', scopes: ['repo'] } });

type Extras = Partial<Pick<Ask, 'message' | 'requestedBy' | 'ttlSeconds' | 'returnUrl'>>;

/** @throws if it is not issued */
export function askKind(world: World, user: string, kind: AnyKind, more: Extras = {}): Promise<ElicitationAnswer> {
  const ask = kind === 'authorization' ? authorizationOf() : askOfEach[kind].ask();
  return issueFor(world, user, { ...ask, ...more });
}

/** The form of the page, filled in as by an approving user. */
export async function approvalForm(
  raw: RawBrowser,
  elicitationId: string,
  kind: AnyKind,
): Promise<Record<string, string>> {
  const typed = kind === 'authorization' ? {} : askOfEach[kind].typed;
  const fields = Object.entries(typed).map(([name, value]) => [`field.${name}`, value]);
  return { ...(await raw.acceptForm(elicitationId)), ...Object.fromEntries(fields) };
}

/** Approves an elicitation of any kind; an authorization with the provider's account `alice`. */
export async function approve(raw: RawBrowser, elicitationId: string, kind: AnyKind): Promise<RawAnswer> {
  if (kind !== 'authorization') return acceptWith(raw, elicitationId, askOfEach[kind].typed);
  return raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), 'alice'));
}
