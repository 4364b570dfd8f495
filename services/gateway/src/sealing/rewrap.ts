import { type SealedKind, type SealedRecord, type SealedRecordStore, sealedKinds } from '@postern/elicitation';
import { kidOf, type SealContext, type Vault, VaultError } from '@postern/vault';
import {
  apiKeyContext,
  connectionContext,
  credentialContext,
  registrationContext,
  resultContext,
} from './seal-contexts.ts';

/** Number of sealed values under one key, by kind. */
export type CountsByKind = Readonly<Record<SealedKind, number>>;

export interface KeyUse {
  readonly kid: string;
  /** `unknown`: not configured, so its values cannot be opened. */
  readonly role: 'current' | 'old' | 'unknown';
  readonly counts: CountsByKind;
}

export interface SealedCensus {
  /** The configured keys, the current one first, then unknown keys that sealed values name. */
  readonly keys: readonly KeyUse[];
  /** Records whose value does not name a key. */
  readonly unreadable: readonly Pick<SealedRecord, 'kind' | 'id'>[];
}

/** Counts the stored sealed values by key without opening them. @throws StoreUnavailableError */
export async function takeCensus(p: {
  readonly records: Pick<SealedRecordStore, 'walk'>;
  readonly vault: Pick<Vault, 'kids'>;
}): Promise<SealedCensus> {
  const counts = new Map(p.vault.kids.map(kid => [kid, noCounts()]));
  const unreadable: Pick<SealedRecord, 'kind' | 'id'>[] = [];
  for await (const step of p.records.walk()) {
    unreadable.push(...step.unreadable);
    for (const record of step.records) {
      const kid = namedKid(record);
      if (kid === undefined) unreadable.push({ kind: record.kind, id: record.id });
      else {
        const ofKid = counts.get(kid) ?? noCounts();
        ofKid[record.kind] += 1;
        counts.set(kid, ofKid);
      }
    }
  }
  const known = new Set(p.vault.kids);
  const roleOf = (kid: string) => (kid === p.vault.kids[0] ? 'current' : known.has(kid) ? 'old' : 'unknown');
  return { keys: [...counts].map(([kid, ofKid]) => ({ kid, role: roleOf(kid), counts: ofKid })), unreadable };
}

export const totalOf = (counts: CountsByKind): number => sealedKinds.reduce((sum, kind) => sum + counts[kind], 0);

export interface RewrapTally {
  /** Values that are now under the current key. */
  rewrapped: number;
  /** Values that another request replaced or removed during the re-wrap. */
  superseded: number;
  /** Number of values by the kid of a key that is not configured, or that its service refuses to use. */
  readonly unknown: Map<string, number>;
  /** Values that do not open or name no key: altered or moved. */
  readonly damaged: Pick<SealedRecord, 'kind' | 'id'>[];
}

export interface RewrapOptions {
  readonly records: Pick<SealedRecordStore, 'walk' | 'replace'>;
  readonly vault: Vault;
  /** Number of values to re-wrap at the same time. */
  readonly batch: number;
  /** Called after each batch, and after each page of the walk without work. False stops the re-wrap cleanly. */
  readonly shouldContinue: (progress: { readonly rewrapped: number }) => boolean | Promise<boolean>;
}

export type RewrapReport = RewrapTally & {
  /**
   * - `done`: no value is under an old key.
   * - `stopped`: values may remain under an old key.
   * - `unsettled`: new values keep arriving under old keys, so another process still seals with one.
   */
  readonly result: 'done' | 'stopped' | 'unsettled';
};

/** Number of walks after which new values under old keys mean that another process still seals with one. */
const MAX_WALKS = 8;

/**
 * Re-wraps every stored sealed value under the current key. Each value is replaced atomically, and only if it is still the one that
 * was opened. So no refreshed token set is lost, and a stop or crash keeps the values that are done.
 *
 * It ends after two walks in a row without work. One is not enough: a connection that is removed during a walk becomes a revocation,
 * perhaps under a Redis key that the walk has passed already.
 * @throws StoreUnavailableError, VaultError `key_service_unavailable`
 */
export async function rewrapAll(options: RewrapOptions): Promise<RewrapReport> {
  let rewrapped = 0;
  let superseded = 0;
  let idleWalks = 0;
  for (let walk = 0; walk < MAX_WALKS; walk += 1) {
    const shouldContinue: RewrapOptions['shouldContinue'] = progress =>
      options.shouldContinue({ rewrapped: rewrapped + progress.rewrapped });
    const { isWhole, ...tally } = await rewrapWalk({ ...options, shouldContinue });
    rewrapped += tally.rewrapped;
    superseded += tally.superseded;
    const report = { ...tally, rewrapped, superseded };
    if (!isWhole) return { ...report, result: 'stopped' };
    idleWalks = tally.rewrapped + tally.superseded === 0 ? idleWalks + 1 : 0;
    if (idleWalks === 2) return { ...report, result: 'done' };
    if (walk === MAX_WALKS - 1) return { ...report, result: 'unsettled' };
  }
  throw new TypeError('unreachable');
}

async function rewrapWalk(options: RewrapOptions): Promise<RewrapTally & { readonly isWhole: boolean }> {
  const tally: RewrapTally = { rewrapped: 0, superseded: 0, unknown: new Map(), damaged: [] };
  for await (const step of options.records.walk()) {
    tally.damaged.push(...step.unreadable);
    const outdated = step.records.filter(record => namedKid(record) !== options.vault.kids[0]);
    for (let at = 0; at < outdated.length; at += options.batch) {
      await Promise.all(outdated.slice(at, at + options.batch).map(record => rewrapOne(record, options, tally)));
      if (!(await options.shouldContinue(tally))) return { ...tally, isWhole: false };
    }
    if (outdated.length === 0 && !(await options.shouldContinue(tally))) return { ...tally, isWhole: false };
  }
  return { ...tally, isWhole: true };
}

async function rewrapOne(record: SealedRecord, { records, vault }: RewrapOptions, tally: RewrapTally): Promise<void> {
  try {
    const next = await vault.reseal(record.sealed, sealContextOf(record));
    if (next === undefined) return;
    if (await records.replace(record, next)) tally.rewrapped += 1;
    else tally.superseded += 1;
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const isMissing = error.code === 'unknown_key' || error.fault === 'key_unusable';
    // Without the current key nothing can be sealed, so the re-wrap fails.
    if (isMissing && error.kid !== undefined && error.kid !== vault.kids[0])
      tally.unknown.set(error.kid, (tally.unknown.get(error.kid) ?? 0) + 1);
    else if (error.code === 'not_authentic') tally.damaged.push({ kind: record.kind, id: record.id });
    else throw error;
  }
}

/** Returns the context of a sealed record, with the functions that its users open it with. @internal */
export function sealContextOf(record: SealedRecord): SealContext {
  switch (record.kind) {
    case 'registration':
      return registrationContext(record.id);
    case 'apiKey':
      return apiKeyContext(record);
    case 'credential':
      return credentialContext(record);
    case 'result':
      return resultContext(record);
    case 'connection':
    case 'revocation':
      return connectionContext(record);
  }
}

function namedKid({ sealed }: SealedRecord): string | undefined {
  try {
    return kidOf(sealed);
  } catch (error) {
    if (error instanceof VaultError) return undefined;
    throw error;
  }
}

const noCounts = (): Record<SealedKind, number> => ({
  connection: 0,
  revocation: 0,
  registration: 0,
  credential: 0,
  result: 0,
  apiKey: 0,
});
