export type Place = readonly (string | number)[];

/** Returns the path of every node of a document, the root first. */
export function placesOf(node: unknown, at: Place = []): Place[] {
  const children: [string | number, unknown][] = Array.isArray(node)
    ? node.map((item, index) => [index, item])
    : typeof node === 'object' && node !== null
      ? Object.entries(node)
      : [];
  return [at, ...children.flatMap(([key, child]) => placesOf(child, [...at, key]))];
}

export function valueAt(node: unknown, [key, ...rest]: Place): unknown {
  if (key === undefined) return node;
  return valueAt((node as Record<string | number, unknown>)[key], rest);
}

/** Copies a document with another value at one path; `undefined` removes the member. */
export function withValueAt(node: unknown, [key, ...rest]: Place, value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(node)) {
    const items = [...node];
    if (rest.length === 0 && value === undefined) items.splice(Number(key), 1);
    else items[Number(key)] = withValueAt(node[Number(key)], rest, value);
    return items;
  }
  const members = { ...(node as Record<string, unknown>) };
  const changed = withValueAt(members[String(key)], rest, value);
  if (changed === undefined) delete members[String(key)];
  else members[String(key)] = changed;
  return members;
}
