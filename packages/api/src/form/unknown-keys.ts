/** Returns the paths of members that MCP's restricted schema does not define. */

const about = ['type', 'title', 'description', 'default'];
const membersByType = new Map<unknown, ReadonlySet<string>>([
  ['string', new Set([...about, 'minLength', 'maxLength', 'pattern', 'format', 'enum', 'enumNames', 'oneOf'])],
  ['number', new Set([...about, 'minimum', 'maximum'])],
  ['integer', new Set([...about, 'minimum', 'maximum'])],
  ['boolean', new Set(about)],
  ['array', new Set([...about, 'minItems', 'maxItems', 'items'])],
]);
const rootMembers = new Set(['$schema', 'type', 'properties', 'required']);
const itemsMembers = new Set(['type', 'enum', 'anyOf']);
const optionMembers = new Set(['const', 'title']);

/** Checks only names. The schema refuses wrong shapes and unknown types. */
export function unknownKeysIn(schema: unknown): PropertyKey[][] {
  const found: PropertyKey[][] = [];
  const visit = (value: unknown, known: ReadonlySet<string>, path: PropertyKey[]) => {
    if (!isObject(value)) return;
    for (const name of Object.keys(value)) if (!known.has(name)) found.push([...path, name]);
  };
  const visitEach = (options: unknown, path: PropertyKey[]) => {
    if (!Array.isArray(options)) return;
    for (const [at, option] of options.entries()) visit(option, optionMembers, [...path, at]);
  };
  visit(schema, rootMembers, []);
  const properties = isObject(schema) ? schema['properties'] : undefined;
  if (!isObject(properties)) return found;
  for (const [name, property] of Object.entries(properties)) {
    if (name === '__proto__') found.push(['properties', name]);
    if (!isObject(property)) continue;
    const known = membersByType.get(property['type']);
    if (known !== undefined) visit(property, known, ['properties', name]);
    visit(property['items'], itemsMembers, ['properties', name, 'items']);
    visitEach(property['oneOf'], ['properties', name, 'oneOf']);
    if (isObject(property['items'])) visitEach(property['items']['anyOf'], ['properties', name, 'items', 'anyOf']);
  }
  return found;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
