import { type SealedKind, type SealedRecord, type SealedRecords, sealedKinds } from '@postern/store-redis';
import { kidOf, type SealContext, type Vault, VaultError } from '@postern/vault';
import { registrationContext } from './flows/client-registrations.ts';
import { connectionContext } from './flows/connection-context.ts';
import { credentialContext, resultContext } from './flows/result-context.ts';

/** Whatever stands under a kid in the store, in numbers. */
export type CountsByKind = Readonly<Record<SealedKind, number>>;

export interface KeyUse {
  readonly kid: string;
  /** `unknown`: not configured, so its values cannot be opened. */
  readonly role: 'current' | 'old' | 'unknown';
  readonly counts: CountsByKind;
}

export interface SealedCensus {
  /** Every configured key, the current one first, and after them every key that values name and nobody has. */
  readonly keys: readonly KeyUse[];
  /** Records whose value does not even name a key. */
  readonly unreadable: readonly Pick<SealedRecord, 'kind' | 'id'>[];
}

/** Counts the lasting sealed values by key, without opening any. @throws StoreUnavailableError */
export async function takeCensus(p: {
  readonly records: Pick<SealedRecords, 'walk'>;
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
  /** Now under the current key. */
  rewrapped: number;
  /** Were replaced or removed by somebody else in the meantime. */
  overtaken: number;
  /** By the kid of a key that nobody has. */
  readonly unknown: Map<string, number>;
  /** Do not open, or name no key: altered or misplaced. */
  readonly damaged: Pick<SealedRecord, 'kind' | 'id'>[];
}

export interface RewrapOptions {
  readonly records: Pick<SealedRecords, 'walk' | 'replace'>;
  readonly vault: Vault;
  /** Values worked on at once. */
  readonly batch: number;
  /** Called after every few values, and after every few keys looked at; false ends the work here, cleanly. */
  readonly goOn: (progress: { readonly rewrapped: number }) => boolean | Promise<boolean>;
}

export type RewrapReport = RewrapTally & {
  /**
   * - `done`: nothing is left under an old key.
   * - `stopped`: there may be more to do.
   * - `unsettled`: values keep arriving under old keys, so somebody still seals with one.
   */
  readonly result: 'done' | 'stopped' | 'unsettled';
};

/** So often does a walk find something new before it is clear that somebody makes it. */
const MAX_WALKS = 8;

/**
 * Brings every lasting sealed value under the current key. Each value is a step of its own: it is replaced only if it is
 * still the one that was opened, so nothing that is refreshed meanwhile is lost, and what is done stays done when the work
 * is stopped or killed.
 *
 * It ends when two walks in a row find nothing to do. One is not enough: a connection that is removed during a walk lives on
 * as a revocation, perhaps under a key that the walk has passed already.
 * @throws StoreUnavailableError, VaultError `key_service_unavailable`
 */
export async function rewrapAll(options: RewrapOptions): Promise<RewrapReport> {
  let rewrapped = 0;
  let overtaken = 0;
  let idleWalks = 0;
  for (let walk = 0; walk < MAX_WALKS; walk += 1) {
    const goOn: RewrapOptions['goOn'] = progress => options.goOn({ rewrapped: rewrapped + progress.rewrapped });
    const { isWhole, ...tally } = await rewrapWalk({ ...options, goOn });
    rewrapped += tally.rewrapped;
    overtaken += tally.overtaken;
    const report = { ...tally, rewrapped, overtaken };
    if (!isWhole) return { ...report, result: 'stopped' };
    idleWalks = tally.rewrapped + tally.overtaken === 0 ? idleWalks + 1 : 0;
    if (idleWalks === 2) return { ...report, result: 'done' };
    if (walk === MAX_WALKS - 1) return { ...report, result: 'unsettled' };
  }
  throw new TypeError('unreachable');
}

async function rewrapWalk(options: RewrapOptions): Promise<RewrapTally & { readonly isWhole: boolean }> {
  const tally: RewrapTally = { rewrapped: 0, overtaken: 0, unknown: new Map(), damaged: [] };
  for await (const step of options.records.walk()) {
    tally.damaged.push(...step.unreadable);
    const todo = step.records.filter(record => namedKid(record) !== options.vault.kids[0]);
    for (let at = 0; at < todo.length; at += options.batch) {
      await Promise.all(todo.slice(at, at + options.batch).map(record => rewrapOne(record, options, tally)));
      if (!(await options.goOn(tally))) return { ...tally, isWhole: false };
    }
    if (todo.length === 0 && !(await options.goOn(tally))) return { ...tally, isWhole: false };
  }
  return { ...tally, isWhole: true };
}

async function rewrapOne(record: SealedRecord, { records, vault }: RewrapOptions, tally: RewrapTally): Promise<void> {
  try {
    const next = await vault.reseal(record.sealed, sealContextOf(record));
    if (next === undefined) return;
    if (await records.replace(record, next)) tally.rewrapped += 1;
    else tally.overtaken += 1;
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    // A current key that its service has lost is nothing that can be counted: nothing at all can be sealed.
    if (error.code === 'unknown_key' && error.kid !== undefined && error.kid !== vault.kids[0])
      tally.unknown.set(error.kid, (tally.unknown.get(error.kid) ?? 0) + 1);
    else if (error.code === 'not_authentic') tally.damaged.push({ kind: record.kind, id: record.id });
    else throw error;
  }
}

/** What the value was sealed for: the very context that those who use it open it with. */
export function sealContextOf(record: SealedRecord): SealContext {
  switch (record.kind) {
    case 'registration':
      return registrationContext(record.id);
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
});
