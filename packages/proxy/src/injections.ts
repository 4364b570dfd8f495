import { type JsonNode, memberOf, readJsonText, withMembers } from '@postern/api/json';
import type { AuthorizeOptions, CredentialRequest } from '@postern/mcp';
import { KnownNames, type Message, RpcError } from './message.ts';

/** Where the upstream expects a secret. */
export type Place =
  | { readonly argument: string }
  /** A member of `_meta`. */
  | { readonly meta: string }
  | { readonly header: string; readonly prefix: string };

/** A secret of the person that the proxy adds to a call. */
export interface Injection {
  /** The provider of the account, or the name of the credential. */
  readonly name: string;
  readonly from:
    | { readonly type: 'account'; readonly options: AuthorizeOptions }
    | { readonly type: 'credential'; readonly request: CredentialRequest & { readonly retention: 'lasting' } };
  readonly as: Place;
  /** Patterns of tool errors that say that the upstream did not accept the secret. */
  readonly rejected: readonly string[];
}

/** An injection and its present value. */
export interface Secret {
  readonly injection: Injection;
  readonly value: string;
}

/** Names of the arguments that these injections fill in. */
export const argumentsOf = (injections: readonly Injection[]): readonly string[] =>
  injections.flatMap(({ as }) => ('argument' in as ? [as.argument] : []));

/**
 * Refuses what the proxy fills in itself, in any spelling that a lenient upstream could prefer.
 *
 * @throws {RpcError}
 */
export function refuseGiven({ params }: Message, injections: readonly Injection[]): void {
  const metas = injections.flatMap(({ as }) => ('meta' in as ? [as.meta] : []));
  refuseMembers(memberOf(params, 'arguments'), argumentsOf(injections));
  refuseMembers(memberOf(params, '_meta'), metas);
}

function refuseMembers(node: JsonNode | undefined, names: readonly string[]): void {
  if (node?.type !== 'object' || names.length === 0) return;
  const known = new KnownNames(names);
  for (const { name } of node.members)
    if (names.includes(name) || known.mistakenFor(name) !== undefined)
      throw new RpcError(-32602, `${JSON.stringify(name)} is filled in by the proxy, so a call must not have it`);
}

/** RFC 9110 section 5.5, without what some senders quote in their errors. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** What goes to the upstream for a call with secrets. */
export interface Filled {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** Adds secrets to a call. Everything else stays as it came. @throws {HeaderValueError} */
export function filled(bytes: Buffer, secrets: readonly Secret[]): Filled {
  if (secrets.length === 0) return { bytes, headers: undefined };
  const args: [string, string][] = [];
  const metas: [string, string][] = [];
  const headers: [string, string][] = [];
  for (const { injection, value } of secrets) {
    const { as } = injection;
    if ('argument' in as) args.push([as.argument, JSON.stringify(value)]);
    else if ('meta' in as) metas.push([as.meta, JSON.stringify(value)]);
    else if (HEADER_VALUE.test(value)) headers.push([as.header, `${as.prefix}${value}`]);
    else throw new HeaderValueError(injection.name);
  }
  const text = withAdded(withAdded(bytes.toString('utf8'), 'arguments', args), '_meta', metas);
  return { bytes: Buffer.from(text), headers: headers.length === 0 ? undefined : Object.fromEntries(headers) };
}

function withAdded(text: string, member: string, added: readonly (readonly [string, string])[]): string {
  if (added.length === 0) return text;
  const params = memberOf(readJsonText(text), 'params');
  if (params?.type !== 'object') throw new TypeError('a call has params');
  const node = memberOf(params, member);
  const inner = added.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',');
  if (node?.type !== 'object') return withMembers(text, params, { [member]: `{${inner}}` });
  const end = node.end - 1;
  return `${text.slice(0, end)}${node.members.length > 0 ? ',' : ''}${inner}${text.slice(end)}`;
}

/** The secret has characters that a header cannot carry. The message never quotes it. */
export class HeaderValueError extends Error {
  override readonly name = 'HeaderValueError';

  constructor(of: string) {
    super(`The value of ${JSON.stringify(of)} has characters that a header cannot carry.`);
  }
}
