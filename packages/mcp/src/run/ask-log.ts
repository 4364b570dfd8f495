import { hash, randomUUID } from 'node:crypto';
import type { ElicitationKind } from '@postern/api';
import { PosternUsageError } from '../errors.ts';
import { CHARGING_MS } from '../gateway/client.ts';
import { type AskRecord, type CallIdentity, MAX_ASKS } from './request-state.ts';

/** A call and what it has asked so far. */
export type Call = CallIdentity & { readonly asks: readonly AskRecord[] };

/** A call of which this process's memory knows. Without an id, it has had its result, and the next call is another one. */
export type RememberedCall = Partial<Call> & {
  readonly asks: readonly AskRecord[];
  /** Whether the MCP client of its last run shows forms itself. */
  readonly showedForms?: boolean;
};

export const newCall = (now: number): Call => ({ id: randomUUID(), startedAt: now, asks: [] });

/**
 * Asks of one call: those of this run and of the runs before it. The id and the time of a call end with the result of its handler, so that
 * no effect of the next call is taken for a repetition. What the call has left open, the next one gets if it asks for exactly the same.
 */
export class AskLog {
  #call: CallIdentity;
  readonly #byKey: Map<string, AskRecord>;
  readonly #occurrences = new Map<string, number>();
  /** What the handler was told of the identity of the call. */
  readonly #told = new Set<string>();
  /** Keys of this run, in the order of the handler. */
  readonly #asked: string[] = [];
  /** The records come from this process's memory, so the call may not be a retry of the one that left them. */
  readonly isRemembered: boolean;
  /** The memory comes from an MCP client that shows no forms. */
  readonly isOfPages: boolean;

  constructor({ asks, showedForms, ...call }: Call & RememberedCall, isRemembered: boolean) {
    this.#call = call;
    this.isOfPages = isRemembered && showedForms !== true;
    this.#byKey = new Map(asks.map(record => [record.key, record]));
    this.isRemembered = isRemembered;
  }

  /** What the runs have in common. */
  get call(): CallIdentity {
    return this.#call;
  }

  /** An id of this call (UUID) for the handler. */
  id(name: string): string {
    const id = uuidOf(digest(['id', this.#call.id, name]));
    this.#told.add(id);
    return id;
  }

  /** When this call began, for the handler. */
  now(): number {
    const { startedAt } = this.#call;
    this.#told.add(String(Math.floor(startedAt / 1000))).add(new Date(startedAt).toISOString().slice(0, 16));
    return startedAt;
  }

  /** Whether terms name this call. A part of an id, or a time that is computed from its own, is not found. */
  isNamedIn(terms: object): boolean {
    const json = JSON.stringify(terms);
    return [...this.#told].some(text => json.includes(text));
  }

  /** Whether a run of the call may have acted. A payment that this run has not reached may be paid. */
  get mayHaveActed(): boolean {
    return this.#call.mayHaveActed === true || this.unreachedPayments().length > 0;
  }

  /** Payments that an earlier run of this call has asked for, and this run has not. */
  unreachedPayments(): readonly AskRecord[] {
    return this.#unasked().filter(({ kind, isLeft }) => kind === 'payment' && isLeft === undefined);
  }

  /** The handler gets an answer with which it may act. */
  noteAnswer(): void {
    this.#call = { ...this.#call, mayHaveActed: true };
  }

  /** Whether this run has asked anything yet. */
  get hasAsked(): boolean {
    return this.#asked.length > 0;
  }

  /**
   * The next ask with these terms. Equal asks of one run are numbered in the order of the handler, except that a handler which asks again
   * after an interruption repeats the same ask.
   */
  next(kind: ElicitationKind, terms: object, interrupted: ReadonlySet<string>): Pick<AskRecord, 'key' | 'place'> {
    const own = digest([kind, terms]);
    const before = this.#occurrences.get(own) ?? 0;
    const keyOf = (occurrence: number) => (occurrence === 1 ? own : `${own}.${occurrence}`);
    if (interrupted.has(keyOf(before))) return { key: keyOf(before), place: this.#asked.indexOf(keyOf(before)) };
    this.#occurrences.set(own, before + 1);
    const key = keyOf(before + 1);
    return { key, place: this.#asked.push(key) - 1 };
  }

  /**
   * Returns what an earlier run asked at this place with other terms, unless this run has asked it too. Payments count wherever they
   * were asked: an ask more or less before them must not hide that one is paid.
   */
  others({ key, place }: Pick<AskRecord, 'key' | 'place'>, kind: ElicitationKind): readonly AskRecord[] {
    if (this.#byKey.has(key)) return [];
    return this.#unasked().filter(record => record.kind === kind && (record.place === place || kind === 'payment'));
  }

  /**
   * Keys of payments that may still be paid, or are paid and not used.
   *
   * @param p.refused keys of the asks that were refused in this run
   * @param p.isUsed whether a result of the handler has used up what the run has got
   */
  openPayments({ refused, isUsed }: { readonly refused: ReadonlySet<string>; readonly isUsed: boolean }): string[] {
    const isOver = ({ key, isDone }: AskRecord) =>
      refused.has(key) || (isUsed && isDone === true && this.#asked.includes(key));
    return this.list()
      .filter(record => record.kind === 'payment' && !isOver(record))
      .map(({ key }) => key);
  }

  #unasked(): readonly AskRecord[] {
    return this.list().filter(({ key }) => !this.#asked.includes(key));
  }

  get(key: string): AskRecord | undefined {
    return this.#byKey.get(key);
  }

  /** @throws {PosternUsageError} `too_many_steps` */
  set(record: AskRecord): void {
    if (!this.#byKey.has(record.key) && this.#byKey.size >= MAX_ASKS)
      throw new PosternUsageError('too_many_steps', `One call may ask at most ${MAX_ASKS} times.`);
    this.#byKey.set(record.key, record);
  }

  update(key: string, changes: Partial<Omit<AskRecord, 'key'>>): void {
    const record = this.#byKey.get(key);
    if (record !== undefined) this.#byKey.set(key, { ...record, ...changes });
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }

  list(): readonly AskRecord[] {
    return [...this.#byKey.values()];
  }
}

/** A UUID of version 8 (RFC 9562, section 5.8) from a digest. */
function uuidOf(text: string): string {
  const bytes = Buffer.from(text, 'base64url').subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

type NewRecord = Omit<AskRecord, 'redemption' | 'isDone' | 'refused' | 'content' | 'misfits' | 'isLeft'>;

export function newRecord(p: NewRecord): AskRecord {
  return { ...p, redemption: randomUUID() };
}

/** Bounds on what a record keeps of its terms, in characters: they travel in the `requestState`. */
const MAX_TERM = 48;
const MAX_TERMS = 640;

/** The beginning of the terms: texts and numbers by their path. */
export function beginningOf(terms: object): AskRecord['terms'] {
  const known: Record<string, string> = {};
  let left = MAX_TERMS;
  const visit = (value: unknown, path: string): void => {
    if (typeof value === 'object' && value !== null)
      for (const [name, member] of Object.entries(value)) visit(member, path === '' ? name : `${path}.${name}`);
    else if (value !== undefined && left > 0) {
      known[path] = String(value).slice(0, MAX_TERM);
      left -= path.length + MAX_TERM;
    }
  };
  visit(terms, '');
  return known;
}

/** Names the first member that differs, with both values. */
export function differenceOf(earlier: AskRecord['terms'], now: AskRecord['terms']): string {
  const path = [...Object.keys(earlier), ...Object.keys(now)].find(name => earlier[name] !== now[name]);
  const text = (value: string | undefined) => (value === undefined ? 'nothing' : JSON.stringify(value));
  return path === undefined ? 'the terms differ' : `${path} differs: ${text(earlier[path])} / ${text(now[path])}`;
}

/** When the last of the asks has ended, in epoch milliseconds. */
export function lastEnd(records: readonly AskRecord[]): number {
  return Math.max(0, ...records.map(({ kind, expiresAt }) => expiresAt + (kind === 'payment' ? CHARGING_MS : 0)));
}

interface Entry {
  readonly remembered: RememberedCall;
  readonly forgetAt: number;
  readonly size: number;
}

/** Entries of one user, oldest first. */
interface Memory {
  readonly entries: Map<string, readonly Entry[]>;
  size: number;
}

/** Identifies a call across retries that carry no state. */
export interface CallKey {
  readonly user: string;
  /** Handler and arguments. */
  readonly call: string;
}

/** Milliseconds after the expiry of an ask during which a call may still learn how it ended. */
export const GRACE_MS = 10 * 60_000;
/** Maximum size of all records in characters. They include form contents from MCP clients. */
const MAX_SIZE = 16 * 1024 * 1024;
/** Maximum number of equal calls of one user. */
const MAX_EQUAL = 32;

/**
 * Remembers the progress of calls for MCP clients that carry no state from one call to the next. Without it, a decline on the page
 * would lead to the same ask again, because the gateway opens a new elicitation once the old one has ended; and a result redeemed
 * before a later ask would be lost. The memory belongs to one process: another replica asks again, which is safe. When the memory
 * is full, the user with the largest share loses entries first, so no user can displace the entries of others.
 *
 * The call that continues removes its entry. A concurrent equal call continues with an entry of its own, or redeems with its own key and
 * is refused by the gateway, so it never gets the result that was approved for the first.
 */
export class RecentCalls {
  readonly #users = new Map<string, Memory>();
  readonly #limit: number;
  readonly #now: () => number;
  #count = 0;
  #size = 0;

  constructor(limit: number, now: () => number) {
    this.#limit = limit;
    this.#now = now;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  remember(key: CallKey, remembered: RememberedCall): void {
    const size = JSON.stringify(remembered).length;
    const memory = this.#users.get(key.user) ?? { entries: new Map<string, readonly Entry[]>(), size: 0 };
    this.#users.set(key.user, memory);
    const equal = memory.entries.get(key.call) ?? [];
    // The order of the map is the order in which calls make room.
    memory.entries.delete(key.call);
    memory.entries.set(key.call, [...equal, { remembered, forgetAt: lastEnd(remembered.asks) + GRACE_MS, size }]);
    memory.size += size;
    this.#count += 1;
    this.#size += size;
    const [oldest] = equal;
    if (oldest !== undefined && equal.length >= MAX_EQUAL) this.#forget(key, oldest);
    while (this.#count > this.#limit || this.#size > MAX_SIZE) this.#makeRoom();
  }

  /** The calls that `take` may return, oldest first. */
  equal(key: CallKey): readonly RememberedCall[] {
    for (const entry of this.#equal(key)) if (entry.forgetAt <= this.#now()) this.#forget(key, entry);
    return this.#equal(key).map(({ remembered }) => remembered);
  }

  /** Removes one of the equal calls and returns it, so at most one caller gets it: the preferred one if it is left, else the oldest. */
  take(key: CallKey, preferred?: RememberedCall): RememberedCall | undefined {
    const calls = this.equal(key);
    const taken = calls.find(call => call === preferred) ?? calls[0];
    const entry = this.#equal(key).find(({ remembered }) => remembered === taken);
    if (entry !== undefined) this.#forget(key, entry);
    return taken;
  }

  /** Removes an entry whose records a call carries itself, so that no other call continues with them. */
  discard(key: CallKey, records: readonly AskRecord[]): void {
    const carried = new Set(records.map(({ redemption }) => redemption));
    for (const entry of this.#equal(key))
      if (entry.remembered.asks.some(({ redemption }) => carried.has(redemption))) this.#forget(key, entry);
  }

  #equal({ user, call }: CallKey): readonly Entry[] {
    return this.#users.get(user)?.entries.get(call) ?? [];
  }

  #forget({ user, call }: CallKey, entry: Entry): void {
    const memory = this.#users.get(user);
    if (memory === undefined) return;
    const others = this.#equal({ user, call }).filter(each => each !== entry);
    if (others.length > 0) memory.entries.set(call, others);
    else memory.entries.delete(call);
    memory.size -= entry.size;
    this.#count -= 1;
    this.#size -= entry.size;
    if (memory.entries.size === 0) this.#users.delete(user);
  }

  #makeRoom(): void {
    const [user, memory] = [...this.#users].reduce((most, one) => (one[1].size > most[1].size ? one : most));
    const [[call, [oldest]] = ['', []]] = memory.entries;
    if (oldest !== undefined) this.#forget({ user, call }, oldest);
  }
}

/** SHA-256 over canonical JSON, base64url. The order of keys does not matter. */
export function digest(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'base64url');
}

/**
 * JSON with sorted keys (in the manner of RFC 8785). Tool arguments arrive here after the tool's schema has parsed them,
 * so values without a JSON form are possible; common ones have an unambiguous form, others are refused. An instance of an unknown class
 * may keep its content where it is not seen, and would be equal to any other.
 *
 * @throws {PosternUsageError} `arguments_not_serializable`
 * @internal
 */
export function canonicalJson(value: unknown): string {
  return write(value, new Set());
}

function write(value: unknown, open: Set<object>): string {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'number':
      return Number.isFinite(value) ? JSON.stringify(value) : `{"$number":"${value}"}`;
    case 'bigint':
      return `{"$bigint":"${value}"}`;
    case 'undefined':
      return 'null';
    case 'object':
      return value === null ? 'null' : writeObject(value, open);
    default:
      throw new PosternUsageError('arguments_not_serializable', `A ${typeof value} has no canonical form.`);
  }
}

function writeObject(value: object, open: Set<object>): string {
  if (open.has(value)) throw new PosternUsageError('arguments_not_serializable', 'A cycle has no canonical form.');
  open.add(value);
  try {
    if (value instanceof Date) return `{"$date":"${value.getTime()}"}`;
    if (value instanceof Map) return `{"$map":${write([...value], open)}}`;
    if (value instanceof Set) return `{"$set":${write([...value], open)}}`;
    if (ArrayBuffer.isView(value)) {
      const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64url');
      return `{"$${value.constructor.name}":"${bytes}"}`;
    }
    if (Array.isArray(value)) return `[${value.map(item => write(item, open)).join(',')}]`;
    if ('toJSON' in value && typeof value.toJSON === 'function') return write(value.toJSON(), open);
    if (!isPlain(value)) {
      const name = value.constructor?.name ?? 'an unknown class';
      throw new PosternUsageError('arguments_not_serializable', `An instance of ${name} has no canonical form.`);
    }
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      // The form of a date or a map begins with a dollar sign, so a key that begins with one gets another.
      .map(([key, member]) => `${JSON.stringify(key.startsWith('$') ? `$${key}` : key)}:${write(member, open)}`);
    return `{${members.join(',')}}`;
  } finally {
    open.delete(value);
  }
}

/** An object literal of any realm, or one without a prototype. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
