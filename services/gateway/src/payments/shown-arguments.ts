import { ARGUMENT_LIMITS, isSecretName, type JsonMember, type JsonNode, readJson, unseenApart } from '@postern/api';

type Shown =
  | { readonly type: 'object'; readonly members: ShownMembers }
  | { readonly type: 'array'; readonly elements: readonly Shown[] }
  | { readonly type: 'string'; readonly text: readonly string[] }
  | { readonly type: 'number' | 'boolean' | 'null'; readonly text: string }
  | { readonly type: 'hidden' };
type ShownMembers = readonly (readonly [name: readonly string[], value: Shown])[];

/** Returns the arguments of a confirmation as its page shows them. */
export function shownArguments(text: string): ShownMembers {
  const node = readJson(text, ARGUMENT_LIMITS);
  if (node.type !== 'object') throw new TypeError('Arguments are an object.');
  return shownMembers(node.members, false);
}

/** Secrets by their names never reach a page. The digest binds them all the same. */
const shownMembers = (members: readonly JsonMember[], isSecret: boolean): ShownMembers =>
  members.map(({ name, value }) => [unseenApart(name), shown(value, isSecret || isSecretName(name))] as const);

function shown(node: JsonNode, isSecret: boolean): Shown {
  switch (node.type) {
    case 'object':
      return { type: node.type, members: shownMembers(node.members, isSecret) };
    case 'array':
      return { type: node.type, elements: node.elements.map(element => shown(element, isSecret)) };
    case 'string':
      return isSecret ? { type: 'hidden' } : { type: node.type, text: unseenApart(node.text) };
    case 'number':
      return isSecret ? { type: 'hidden' } : node;
    default:
      return node;
  }
}
