export type Place = readonly (string | number)[];

/** Every place in a document, the document itself first. */
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

/** A copy with another value at one place; `undefined` leaves the member out. */
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
