/** What goes over the connection: values to Redis, which knows only text, and its replies. */

export type Scalar = string | number;

/** ioredis would flatten an array or an object into further values. @throws TypeError */
export function scalar(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  throw new TypeError('Only strings and whole numbers are sent to Redis.');
}

// An unexpected shape of a reply means that a script and its caller do not match.

export function listOf(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw new TypeError('Redis answered with something other than a list.');
  return reply;
}

/** A hash in the format of ioredis. */
export function fieldsOf(reply: unknown): readonly (readonly [name: string, value: unknown])[] {
  if (typeof reply !== 'object' || reply === null || Array.isArray(reply))
    throw new TypeError('Redis answered with something other than a hash.');
  return Object.entries(reply);
}

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new TypeError('Redis answered with something other than text.');
}

/** Whether Redis has no value. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

export function numberOf(value: unknown): number {
  const number = Number(textOf(value));
  if (!Number.isSafeInteger(number)) throw new TypeError('Redis answered with something other than a number.');
  return number;
}

export const unknownResult = () => new TypeError('A script answered with a result this release does not know.');

/**
 * The interface of a Lua script: the one list of its names. The caller passes objects with these names, and the script reads
 * `keys.<name>` and `args.<name>`, there in snake_case. Only `valuesOf` and `preludeOf` know positions.
 */
export interface Script {
  /** The declared keys, or one list of `count` keys. Redis Cluster requires all keys of a call in one slot. */
  readonly keys: readonly string[] | KeyList;
  /** Only the last one may be a list or rows. */
  readonly args: Readonly<Record<string, Arg>>;
  /** Files with code that several scripts share. A later one may use an earlier one. */
  readonly includes?: readonly string[];
}

interface KeyList {
  readonly list: string;
  readonly count: number;
}

/** The type of a value, for the compiler only. */
interface Typed<T> {
  readonly type?: readonly [T];
}
type Value = Scalar | boolean | undefined;
type ValueArg<T extends Value = Value> = { readonly kind: 'value' | 'flag' | 'optional' } & Typed<T>;
type Columns = Readonly<Record<string, ValueArg>>;
type ListArg = { readonly kind: 'list' } & Typed<readonly Scalar[]>;
type RowsArg<C extends Columns = Columns> = { readonly kind: 'rows'; readonly columns: C } & Typed<
  readonly { readonly [Name in keyof C]: TypeOf<C[Name]> }[]
>;
type Arg = { readonly kind: 'clock' } | ValueArg | ListArg | { readonly kind: 'rows'; readonly columns: Columns };
type TypeOf<A> = A extends Typed<infer T> ? T : never;

/** The time of the script in ms, which it reads as the number `now`: the clock of Redis, unless a test sends another time. */
export const clock = { kind: 'clock' } as const;
export const text: ValueArg<string> = { kind: 'value' };
/** A whole number. The script gets its text, and calls `tonumber`. */
export const number: ValueArg<number> = { kind: 'value' };
/** The script gets `1` or `0`. */
export const flag: ValueArg<boolean> = { kind: 'flag' };
export const oneOf = <const T extends string>(..._values: readonly T[]): ValueArg<T> => ({ kind: 'value' });
/** A value that may be absent. The script then gets the empty string. */
export const optional = <T extends Scalar>(_arg: ValueArg<T>): ValueArg<T | undefined> => ({ kind: 'optional' });
/** Any number of values. The script gets a list. */
export const list: ListArg = { kind: 'list' };
/** Any number of rows with these columns. The script gets a list of tables. */
export const rows = <C extends Columns>(columns: C): RowsArg<C> => ({ kind: 'rows', columns });

/** The keys that a caller passes. */
export type KeysOf<S extends Script> = S['keys'] extends readonly string[]
  ? { readonly [Name in S['keys'][number]]: string }
  : S['keys'] extends { readonly list: infer Name extends string }
    ? { readonly [N in Name]: readonly string[] }
    : never;

/** The arguments that a caller passes. An absent one is `undefined`; none is left out. */
export type ArgsOf<S extends Script> = keyof Passed<S> extends never ? Record<string, never> : Passed<S>;

type Passed<S extends Script> = {
  readonly [Name in keyof S['args'] as S['args'][Name] extends { readonly kind: 'clock' } ? never : Name]: TypeOf<
    S['args'][Name]
  >;
};

/** What is sent: the keys, then the arguments. @param now for a script with a clock @throws TypeError */
export function valuesOf(script: Script, keys: object, args: object, now: Scalar): readonly string[] {
  const declared = numberOfKeys(script);
  const sent = isList(script.keys)
    ? listed(Reflect.get(keys, script.keys.list)).map(scalar)
    : script.keys.map(name => scalar(Reflect.get(keys, name)));
  if (sent.length !== declared) throw new TypeError(`The script declares ${declared} keys.`);
  for (const name of Object.keys(script.args)) {
    const arg = script.args[name];
    if (arg?.kind === 'clock') sent.push(scalar(now));
    else if (arg !== undefined) push(sent, arg, Reflect.get(args, name));
  }
  return sent;
}

function push(sent: string[], arg: Exclude<Arg, { readonly kind: 'clock' }>, value: unknown): void {
  switch (arg.kind) {
    case 'value':
      sent.push(scalar(value));
      return;
    case 'flag':
      if (typeof value !== 'boolean') throw new TypeError('The script declares a flag.');
      sent.push(value ? '1' : '0');
      return;
    case 'optional':
      sent.push(value === undefined ? '' : scalar(value));
      return;
    case 'list':
      for (const each of listed(value)) sent.push(scalar(each));
      return;
    case 'rows':
      for (const row of listed(value))
        for (const [name, column] of Object.entries(arg.columns)) push(sent, column, Reflect.get(Object(row), name));
  }
}

function listed(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new TypeError('The script declares a list.');
}

/** The ioredis method name of a script; never the name of a Redis command. */
export const methodOf = (name: string) => `postern:${name}`;

export function numberOfKeys({ keys }: Script): number {
  return isList(keys) ? keys.count : keys.length;
}

const isList = (keys: Script['keys']): keys is KeyList => 'list' in keys;

/** The Lua between the shared code and the script itself, which names keys and arguments. */
export function preludeOf({ keys, args }: Script): string {
  const named = isList(keys)
    ? [`${luaNameOf(keys.list)} = { ${Array.from({ length: keys.count }, (_, at) => `KEYS[${at + 1}]`).join(', ')} }`]
    : keys.map((name, at) => `${luaNameOf(name)} = KEYS[${at + 1}]`);
  const all = Object.entries(args);
  const members = all.flatMap(([name, arg], at) => {
    if (arg.kind === 'clock') return [];
    return `${luaNameOf(name)} = ${arg.kind === 'list' || arg.kind === 'rows' ? '{}' : `ARGV[${at + 1}]`}`;
  });
  return [
    `local keys = { ${named.join(', ')} }`,
    `local args = { ${members.join(', ')} }`,
    ...all.flatMap(([name, arg], at) => filled(luaNameOf(name), arg, at + 1)),
  ].join('\n');
}

function filled(name: string, arg: Arg, position: number): readonly string[] {
  switch (arg.kind) {
    case 'clock':
      return [`local now = store_clock(ARGV[${position}])`];
    case 'list':
      return [`for at = ${position}, #ARGV do args.${name}[at - ${position - 1}] = ARGV[at] end`];
    case 'rows': {
      const columns = Object.keys(arg.columns);
      const row = columns.map((column, at) => `${luaNameOf(column)} = ARGV[at + ${at}]`).join(', ');
      return [`for at = ${position}, #ARGV, ${columns.length} do table.insert(args.${name}, { ${row} }) end`];
    }
    default:
      return [];
  }
}

/** `elicitationId` is `elicitation_id` in Lua. @internal */
export function luaNameOf(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}
